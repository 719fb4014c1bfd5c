//===- Contraction.cpp - cases of products --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/lib/Operations/OperationCases.h"
#include <algorithm>

using namespace meshwright;
using namespace meshwright::test;

static OperationCase drawMatrixProducts(CaseSource &source) {
  int64_t b = source.size(), i = source.size(), j = source.size(), k = source.size();
  return {{{{b, i, k}}, {{b, k, j}}},
          "net.dot %a, %b batch = [0] x [0] contract = [2] x [1] : " + printType({b, i, k}) + ", " +
              printType({b, k, j}) + " -> " + printType({b, i, j})};
}

/// A product with a constant, of which is known that it is finite.
static OperationCase drawProductWithConstant(CaseSource &source) {
  int64_t i = source.size(), j = source.size(), k = source.size();
  bool isLeft = source.chance(50);
  CaseShape left{i, k}, right{k, j};
  return {{{isLeft ? right : left}},
          "net.dot " + std::string(isLeft ? "%k, %a" : "%a, %k") + " batch = [] x [] contract = [1] x [0] : " +
              printType(left) + ", " + printType(right) + " -> " + printType({i, j}),
          "%k = net.constant dense<-1.5> : " + printType(isLeft ? left : right)};
}

namespace {

/// One side of a product: the shape, and which dimensions are batching and contracted.
struct Side {
  CaseShape shape, free;
  std::vector<int64_t> batch, contract;
};

} // namespace

/// Puts batching, contracted and up to two free dimensions at random places.
static Side drawSide(CaseSource &source, const CaseShape &batch, const CaseShape &contract) {
  CaseShape free = source.shape(source.pick(0, 2));
  Side side;
  std::vector<int64_t> places = source.shuffle(static_cast<int64_t>(batch.size() + contract.size() + free.size()));
  side.shape.resize(places.size());
  auto *place = places.data();
  for (int64_t size : batch) {
    side.shape[*place] = size;
    side.batch.push_back(*place++);
  }
  for (int64_t size : contract) {
    side.shape[*place] = size;
    side.contract.push_back(*place++);
  }
  std::sort(place, places.data() + places.size());
  for (int64_t size : free) {
    side.shape[*place++] = size;
    side.free.push_back(size);
  }
  return side;
}

static OperationCase drawProduct(CaseSource &source) {
  CaseShape batch = source.shape(source.pick(0, 2)), contract = source.shape(source.pick(0, 2)), result = batch;
  Side lhs = drawSide(source, batch, contract), rhs = drawSide(source, batch, contract);
  result.insert(result.end(), lhs.free.begin(), lhs.free.end());
  result.insert(result.end(), rhs.free.begin(), rhs.free.end());
  return {{{lhs.shape}, {rhs.shape}},
          "net.dot %a, %b batch = " + printList(lhs.batch) + " x " + printList(rhs.batch) +
              " contract = " + printList(lhs.contract) + " x " + printList(rhs.contract) + " : " +
              printType(lhs.shape) + ", " + printType(rhs.shape) + " -> " + printType(result)};
}

void test::addContractionFamilies(std::vector<CaseFamily> &families) {
  families.push_back({"net.dot", "products of matrices", drawMatrixProducts});
  families.push_back({"net.dot", "dimensions at any place", drawProduct});
  families.push_back({"net.dot", "a matrix and a constant", drawProductWithConstant});
}
