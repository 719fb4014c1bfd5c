//===- Reduction.cpp - cases of reductions --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/lib/Operations/OperationCases.h"

using namespace meshwright;
using namespace meshwright::test;

/// Reductions of two dimensions of three, or of others.
static CaseFamily makeReduce(const std::string &kind, const std::string &element, double low, double high) {
  auto draw = [=](CaseSource &source) {
    CaseShape shape = source.shape(3), result;
    std::vector<int64_t> dims;
    for (int64_t dim = 0; dim < 3; ++dim) {
      if (source.chance(60))
        dims.push_back(dim);
      else
        result.push_back(shape[dim]);
    }
    return OperationCase{{{shape, element, low, high}},
                         "net.reduce " + kind + " %a dims = " + printList(dims) + " : " + printType(shape, element) +
                             " -> " + printType(result, element)};
  };
  return {"net.reduce", kind + " of " + element, draw};
}

static OperationCase drawArgReduce(CaseSource &source) {
  CaseShape shape = source.shape(3);
  int64_t dim = source.pick(0, 2);
  shape[dim] = std::max<int64_t>(shape[dim], 1);
  CaseShape result = shape;
  result.erase(result.begin() + dim);
  std::string kind = source.choose<std::string>({"max", "min"});
  return {{{shape}},
          "net.arg_reduce " + kind + " %a dim = " + std::to_string(dim) + " : " + printType(shape) + " -> " +
              printType(result) + ", " + printType(result, "i32")};
}

void test::addReductionFamilies(std::vector<CaseFamily> &families) {
  for (const char *kind : {"sum", "max", "min", "product"})
    families.push_back(makeReduce(kind, "f64", -2, 2));
  for (const char *kind : {"sum", "and", "or"})
    families.push_back(makeReduce(kind, "i32", 0, 20));
  families.push_back({"net.arg_reduce", "f64", drawArgReduce});
}
