//===- Order.cpp - cases of boxes at computed places, orders and matrices -===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/lib/Operations/OperationCases.h"

using namespace meshwright;
using namespace meshwright::test;

namespace {

/// A matrix, a box in it that spans some dimensions whole, and operands that say where it starts, at times outside.
struct PlacedBox {
  CaseShape whole, box;
  std::vector<CaseOperand> starts;
  /// The types of the starts, each after a comma.
  std::string types;

  explicit PlacedBox(CaseSource &source) : whole(source.shape(2)) {
    for (int64_t size : whole) {
      box.push_back(source.chance(50) ? size : source.pick(std::min<int64_t>(size, 1), size));
      starts.push_back({{}, "i32", -1, static_cast<double>(size)});
      types += ", tensor<i32>";
    }
  }
};

} // namespace

static OperationCase drawDynamicSlice(CaseSource &source) {
  PlacedBox placed(source);
  std::vector<CaseOperand> operands{{placed.whole}};
  operands.insert(operands.end(), placed.starts.begin(), placed.starts.end());
  return {operands,
          "net.dynamic_slice %a[%b, %c] : " + printType(placed.whole) + placed.types + " -> " + printType(placed.box)};
}

static OperationCase drawDynamicUpdateSlice(CaseSource &source) {
  PlacedBox placed(source);
  std::vector<CaseOperand> operands{{placed.whole}, {placed.box, "f64", -2, 1.9}};
  operands.insert(operands.end(), placed.starts.begin(), placed.starts.end());
  return {operands, "net.dynamic_update_slice %a, %b[%c, %d] : " + printType(placed.whole) + ", " +
                        printType(placed.box) + placed.types};
}

static OperationCase drawReverse(CaseSource &source) {
  CaseShape shape = source.shape(3), dims = source.choose<CaseShape>({{0}, {1}, {0, 2}, {}});
  return {{{shape}}, "net.reverse %a dims = " + printList(dims) + " : " + printType(shape)};
}

/// Keys of integers, which are equal now and then, and a second key.
static OperationCase drawArgSort(CaseSource &source) {
  CaseShape shape = source.shape(2);
  std::string dim = std::to_string(source.pick(0, 1)), flags = source.chance(50) ? " descending" : "";
  std::string order = printType(shape, "i32");
  return {{{shape, "i32", -2, 2}, {shape}},
          "net.arg_sort %a, %b dim = " + dim + flags + " : " + order + ", " + printType(shape) + " -> " + order};
}

/// Numbers are the only matrices that a draw makes positive definite; larger ones are in DerivativesTest.cpp.
static OperationCase drawCholesky(CaseSource &source) {
  CaseShape shape = source.shape(2);
  shape.insert(shape.end(), {1, 1});
  return {{{shape, "f64", 0.3, 2}}, "net.cholesky %a : " + printType(shape)};
}

static OperationCase drawTriangularSolve(CaseSource &source) {
  CaseShape lhs = source.shape(1), rhs = lhs;
  int64_t rows = source.pick(1, 3);
  lhs.insert(lhs.end(), {rows, rows});
  rhs.insert(rhs.end(), {rows, source.size()});
  return {{{lhs, "f64", 1.1, 2}, {rhs}}, "net.triangular_solve %a, %b : " + printType(lhs) + ", " + printType(rhs)};
}

void test::addOrderFamilies(std::vector<CaseFamily> &families) {
  families.push_back({"net.dynamic_slice", "at any place", drawDynamicSlice});
  families.push_back({"net.dynamic_update_slice", "at any place", drawDynamicUpdateSlice});
  families.push_back({"net.reverse", "f64", drawReverse});
  families.push_back({"net.arg_sort", "two keys", drawArgSort});
  families.push_back({"net.cholesky", "batch", drawCholesky});
  families.push_back({"net.triangular_solve", "batch", drawTriangularSolve});
}
