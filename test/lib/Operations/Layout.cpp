//===- Layout.cpp - cases of operations that make or move elements --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/lib/Operations/OperationCases.h"

using namespace meshwright;
using namespace meshwright::test;

/// Different numbers everywhere, so that a part of a constant shows which one it is.
static OperationCase drawConstant(CaseSource &source) {
  CaseShape shape = source.shape(2);
  std::string text;
  for (int64_t row = 0; row < shape[0]; ++row) {
    text += row ? "], [" : "[";
    for (int64_t column = 0; column < shape[1]; ++column)
      text += (column ? ", " : "") + std::to_string(row * shape[1] + column) + ".5";
  }
  text += shape[0] ? "]" : "";
  bool isEmpty = shape[0] == 0 || shape[1] == 0;
  return {{}, "net.constant dense<" + (isEmpty ? "" : "[" + text + "]") + "> : " + printType(shape)};
}

static OperationCase drawIota(CaseSource &source) {
  CaseShape shape = source.shape(2);
  std::string element = source.choose<std::string>({"i32", "i64", "ui64", "f64"});
  return {{}, "net.iota dim = " + std::to_string(source.pick(0, 1)) + " : " + printType(shape, element)};
}

static OperationCase drawBroadcast(CaseSource &source) {
  int64_t rank = source.pick(1, 3);
  CaseShape shape = source.shape(rank), operand;
  std::vector<int64_t> dims = source.shuffle(rank);
  dims.resize(source.pick(rank > 1 ? 1 : 0, rank));
  for (int64_t dim : dims)
    operand.push_back(shape[dim]);
  return {{{operand}},
          "net.broadcast %a dims = " + printList(dims) + " : " + printType(operand) + " -> " + printType(shape)};
}

/// Joins neighbours of `sizes` at random.
static CaseShape join(CaseSource &source, const std::vector<int64_t> &sizes) {
  CaseShape shape;
  for (int64_t size : sizes) {
    if (shape.empty() || source.chance(50))
      shape.push_back(size);
    else
      shape.back() *= size;
  }
  return shape;
}

static OperationCase drawReshape(CaseSource &source) {
  std::vector<int64_t> sizes = source.shape(3);
  if (source.chance(30))
    sizes.insert(sizes.begin() + source.pick(0, 3), 1);
  CaseShape from = join(source, sizes), to = join(source, sizes);
  return {{{from}}, "net.reshape %a : " + printType(from) + " -> " + printType(to)};
}

static OperationCase drawTranspose(CaseSource &source) {
  CaseShape shape = source.shape(3), result;
  std::vector<int64_t> permutation = source.shuffle(3);
  for (int64_t dim : permutation)
    result.push_back(shape[dim]);
  return {{{shape}},
          "net.transpose %a dims = " + printList(permutation) + " : " + printType(shape) + " -> " + printType(result)};
}

/// Dimensions whole, cut at one end, or in steps.
static OperationCase drawSlice(CaseSource &source) {
  CaseShape shape = source.shape(2), result;
  std::vector<int64_t> starts, limits, steps;
  for (int64_t size : shape) {
    bool isWhole = source.chance(40);
    starts.push_back(isWhole ? 0 : source.chance(50) ? 0 : source.pick(0, size));
    limits.push_back(isWhole ? size : source.pick(starts.back(), size));
    steps.push_back(isWhole ? 1 : source.choose<int64_t>({1, 1, 2, 3}));
    result.push_back((limits.back() - starts.back() + steps.back() - 1) / steps.back());
  }
  return {{{shape}},
          "net.slice %a starts = " + printList(starts) + " limits = " + printList(limits) +
              " steps = " + printList(steps) + " : " + printType(shape) + " -> " + printType(result)};
}

static OperationCase drawPad(CaseSource &source, bool withZeros) {
  CaseShape shape = source.shape(2), result;
  std::vector<int64_t> low, high, interior;
  for (int64_t size : shape) {
    bool isWhole = source.chance(30);
    interior.push_back(isWhole || source.chance(60) ? 0 : source.pick(1, 2));
    int64_t inner = size + std::max<int64_t>(size - 1, 0) * interior.back();
    low.push_back(isWhole || source.chance(40) ? 0 : source.pick(-std::min<int64_t>(inner, 2), 3));
    high.push_back(isWhole ? 0 : source.pick(-std::min<int64_t>(inner + low.back(), 2), 3));
    result.push_back(low.back() + inner + high.back());
  }
  std::string text = " low = " + printList(low) + " high = " + printList(high) + " interior = " + printList(interior) +
                     " : " + printType(shape) + ", tensor<f64> -> " + printType(result);
  if (withZeros)
    return {{{shape}}, "net.pad %a, %k" + text, "%k = net.constant dense<0.0> : tensor<f64>"};
  return {{{shape}, {{}}}, "net.pad %a, %b" + text};
}

static OperationCase drawConcatenate(CaseSource &source) {
  CaseShape shape = source.shape(2);
  int64_t dim = source.pick(0, 1), count = source.pick(1, 3);
  OperationCase made{{}, "net.concatenate "};
  std::string types;
  CaseShape result = shape;
  result[dim] = 0;
  for (int64_t index = 0; index < count; ++index) {
    shape[dim] = source.chance(50) ? shape[dim] : source.size();
    result[dim] += shape[dim];
    made.operands.push_back({shape});
    made.text += std::string(index ? ", %" : "%") + static_cast<char>('a' + index);
    types += (index ? ", " : "") + printType(shape);
  }
  made.text += " dim = " + std::to_string(dim) + " : " + types + " -> " + printType(result);
  return made;
}

void test::addLayoutFamilies(std::vector<CaseFamily> &families) {
  families.push_back({"net.constant", "different numbers", drawConstant});
  families.push_back({"net.iota", "any type", drawIota});
  families.push_back({"net.broadcast", "to three dimensions at most", drawBroadcast});
  families.push_back({"net.reshape", "of three sizes", drawReshape});
  families.push_back({"net.transpose", "three dimensions", drawTranspose});
  families.push_back({"net.slice", "boxes", drawSlice});
  for (bool withZeros : {false, true})
    families.push_back({"net.pad", withZeros ? "zeros" : "both ends and between",
                        [=](CaseSource &source) { return drawPad(source, withZeros); }});
  families.push_back({"net.concatenate", "up to three", drawConcatenate});
}
