//===- IndexTypes.cpp - positions of every integer type -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Some positions lie before the tensor, if the type has such numbers, and some beyond it. Of unsigned types
// those in front are the largest numbers instead: rows of the longer tables for ui8, and beyond 2^63 for ui64.
//
//===----------------------------------------------------------------------===//

#include "test/lib/Operations/OperationCases.h"

using namespace meshwright;
using namespace meshwright::test;

namespace {

/// A table of a few rows or of all that 8 bits can name, and positions in it.
struct Rows {
  CaseOperand table, positions;
  CaseShape windows;

  Rows(CaseSource &source, const std::string &element, bool isLong) {
    int64_t rows = isLong ? source.pick(256, 259) : source.size(), columns = source.pick(1, 3), count = source.size();
    table = {{rows, columns}};
    positions = {{count, 1}, element, -3, static_cast<double>(std::min<int64_t>(rows + 2, 120))};
    windows = {count, columns};
  }
};

} // namespace

static CaseFamily makeGather(const std::string &element, bool isLong) {
  return {"net.gather", "rows by " + element, [=](CaseSource &source) {
            Rows rows(source, element, isLong);
            return OperationCase{{rows.table, rows.positions},
                                 "net.gather %a, %b <offsetDims = [1], collapsedDims = [0], startIndexMap = [0], "
                                 "indexVectorDim = 1> sizes = " +
                                     printList({1, rows.windows[1]}) + " : " + printType(rows.table.shape) + ", " +
                                     printType(rows.positions.shape, element) + " -> " + printType(rows.windows)};
          }};
}

static CaseFamily makeScatter(const std::string &element, const std::string &kind, bool isLong) {
  return {"net.scatter", kind + " rows by " + element, [=](CaseSource &source) {
            Rows rows(source, element, isLong);
            return OperationCase{{rows.table, rows.positions, {rows.windows, "f64", -2, 1.9}},
                                 "net.scatter " + kind +
                                     " %a, %b, %c <updateWindowDims = [1], insertedDims = [0], "
                                     "scatterDimsToOperandDims = [0], indexVectorDim = 1> : " +
                                     printType(rows.table.shape) + ", " + printType(rows.positions.shape, element) +
                                     ", " + printType(rows.windows) + " -> " + printType(rows.table.shape)};
          }};
}

/// Single elements by both of their positions, so that one dimension is split and the other is not.
static CaseFamily makePairs(const std::string &element) {
  return {"net.gather", "elements by two of " + element, [=](CaseSource &source) {
            CaseShape shape = source.shape(2);
            CaseOperand positions{{source.size(), 2}, element, -3, 9};
            return OperationCase{{{shape}, positions},
                                 "net.gather %a, %b <collapsedDims = [0, 1], startIndexMap = [0, 1], indexVectorDim = "
                                 "1> sizes = [1, 1] : " +
                                     printType(shape) + ", " + printType(positions.shape, element) + " -> " +
                                     printType({positions.shape[0]})};
          }};
}

static CaseFamily makeBox(const std::string &element, bool writes) {
  return {
      writes ? "net.dynamic_update_slice" : "net.dynamic_slice", "at a place of " + element, [=](CaseSource &source) {
        CaseShape shape = source.shape(2), box{source.pick(1, shape[0]), shape[1]};
        CaseOperand start{{}, element, -3, static_cast<double>(shape[0] + 2)};
        std::string types = ", " + printType({}, element) + ", " + printType({}, element);
        if (writes)
          return OperationCase{{{shape}, {box, "f64", -2, 1.9}, start, start},
                               "net.dynamic_update_slice %a, %b[%c, %d] : " + printType(shape) + ", " + printType(box) +
                                   types};
        return OperationCase{{{shape}, start, start},
                             "net.dynamic_slice %a[%b, %c] : " + printType(shape) + types + " -> " + printType(box)};
      }};
}

std::vector<CaseFamily> test::getIndexTypeFamilies() {
  std::vector<CaseFamily> families;
  for (const char *element : {"i8", "i16", "i32", "i64", "ui8", "ui16", "ui32", "ui64"})
    for (bool isLong : {false, true}) {
      families.push_back(makeGather(element, isLong));
      for (const char *kind : {"add", "max"})
        families.push_back(makeScatter(element, kind, isLong));
      families.push_back(isLong ? makePairs(element) : makeBox(element, false));
      if (!isLong)
        families.push_back(makeBox(element, true));
    }
  return families;
}
