//===- Contraction.cpp - derivatives of products --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Attach.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::net;
using namespace meshwright::net::derivative;

namespace {

/// One side of a product: its value, what it pairs with the other side, and where its free dimensions are in the
/// result.
struct Side {
  Value value;
  ArrayRef<int64_t> batch, contract;
  SmallVector<int64_t> free;
  int64_t freeOffset;

  SmallVector<int64_t> freeInResult() const {
    return llvm::to_vector(llvm::seq<int64_t>(freeOffset, freeOffset + free.size()));
  }
};

} // namespace

/// The permutation that brings a tensor whose dimensions are those of the operand listed in `has` into the operand's
/// order.
static SmallVector<int64_t> orderOf(ArrayRef<int64_t> has) {
  SmallVector<int64_t> permutation(has.size());
  for (auto [position, dim] : llvm::enumerate(has))
    permutation[dim] = position;
  return permutation;
}

/// The cotangent of `mine` is the product of the result's cotangent and `other`, contracted over what is free in
/// `other`. Either factor may come first; the order that needs no transposition is taken where there is one.
static Value sideCotangent(NetBuilder &build, Value cotangent, const Side &mine, const Side &other) {
  // Paired with a dimension of `other` that was contracted is one of `mine`; the product keeps them in the order of
  // `other`.
  SmallVector<std::pair<int64_t, int64_t>> contracted;
  for (auto [theirs, ours] : llvm::zip_equal(other.contract, mine.contract))
    contracted.emplace_back(theirs, ours);
  llvm::sort(contracted);
  SmallVector<int64_t> cotangentFirst(mine.batch), otherFirst(mine.batch);
  llvm::append_range(cotangentFirst, mine.free);
  llvm::append_range(cotangentFirst, llvm::make_second_range(contracted));
  llvm::append_range(otherFirst, llvm::make_second_range(contracted));
  llvm::append_range(otherFirst, mine.free);

  // Factors of different element types meet in that of the cotangent, which is the wider of the two.
  Type elementType = elementTypeOf(mine.value);
  Value factor = build.convert(other.value, elementTypeOf(cotangent));
  SmallVector<int64_t> batch = llvm::to_vector(llvm::seq<int64_t>(0, mine.batch.size()));
  SmallVector<int64_t> free = other.freeInResult();
  if (llvm::is_sorted(otherFirst) && !llvm::is_sorted(cotangentFirst))
    return build.dot(factor, cotangent, other.batch, batch, other.free, free, elementType);
  Value product = build.dot(cotangent, factor, batch, other.batch, free, other.free, elementType);
  return build.transpose(product, orderOf(cotangentFirst));
}

static FailureOr<Cotangents> differentiateDot(DotOp op, Context c) {
  int64_t batch = op.getLhsBatch().size();
  Side lhs{op.getLhs(), op.getLhsBatch(), op.getLhsContract(), op.getLhsFree(), batch};
  Side rhs{op.getRhs(), op.getRhsBatch(), op.getRhsContract(), op.getRhsFree(),
           batch + static_cast<int64_t>(lhs.free.size())};
  return Cotangents{c.wanted.test(0) ? sideCotangent(c.build, c.cotangent, lhs, rhs) : Value(),
                    c.wanted.test(1) ? sideCotangent(c.build, c.cotangent, rhs, lhs) : Value()};
}

void derivative::attachContraction(MLIRContext *context) { attach<DotOp, differentiateDot>(context); }
