//===- Region.h - operations around a matrix of scores ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention multiplies two short matrices to a long one, rows × columns of scores, and a few operations later contracts
// it again. A region is the product with all operations whose values have rows and columns, and those between them. It
// reads and leaves values that lack one of the two, so computed by tiles of rows it needs no memory for the scores.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TILING_REGION_H
#define MESHWRIGHT_TILING_REGION_H

#include "dialects/Net/Loops.h"
#include "dialects/Net/Net.h"

namespace meshwright::tiling {

/// The place of an axis of a region in a tensor: element i of dimension `dim` has index (i mod extent) / stride on the
/// axis. With the extent of the whole dimension and stride 1 the axis is the dimension.
struct Digit {
  unsigned dim;
  int64_t extent;
  int64_t stride;
  bool operator==(const Digit &) const = default;
};

/// For each axis of a region its place in one tensor, if it has one.
using Labels = llvm::SmallVector<std::optional<Digit>, 4>;

/// An operation of a region.
struct Member {
  mlir::Operation *op;
  llvm::SmallVector<Labels, 3> operands;
  llvm::SmallVector<Labels, 1> results;
  /// Depends on a product of the region. Other members are made of indices, constants and small values; they may have
  /// readers outside and are computed again for the region.
  bool dependent = false;
};

/// The axis of a region that its tiles divide, and the one that they span.
inline constexpr unsigned kRows = 0, kColumns = 1;

/// True if a tensor has rows and columns.
inline bool isWide(const Labels &labels) { return labels[kRows] && labels[kColumns]; }

struct ScoreRegion {
  /// The first product.
  mlir::Operation *product;
  /// The sizes of the axes: rows, columns, and the other dimensions of `product` that all members can be divided by, in
  /// the order of its dimensions.
  llvm::SmallVector<int64_t, 4> sizes;
  /// In the order of the block.
  llvm::SmallVector<Member, 0> members;
  /// The operations of the members.
  llvm::DenseSet<mlir::Operation *> inside;
  /// Operations between the first and the last dependent member that depend on the region and are no members.
  llvm::SmallVector<mlir::Operation *> readers;
  /// True if rows are the axis along which the softmax sums, so that a maximum belongs to a column.
  bool isTransposed = false;
};

/// The regions to look for.
struct RegionOptions {
  /// The fewest bytes of scores.
  int64_t minBytes = 0;
  /// A product makes a region if its result has at least this many times the elements of both operands together. With
  /// rows = columns = n and a head of size d, 4 times is n = 8 d.
  int64_t leastGrowth = 4;
  /// The loops whose bodies have the products; null for those of the whole block.
  const llvm::DenseSet<mlir::Operation *> *loops = nullptr;
  /// The role of the operations; nothing for any.
  std::optional<net::Role> role = {};
  /// Operations that only backward reads may have readers there: they are to be computed again.
  bool ignoresBackward = false;
};

/// The regions of `block` in the order of their products; no dependent member belongs to two. Every region has a
/// reduction along its columns that other members read, as a softmax has, or an exponential of differences from a value
/// of each row, as the gradient of one has. Linear in the operations of the block, if the operations between the first
/// and the last member of a region are few.
llvm::SmallVector<ScoreRegion, 0> findRegions(mlir::Block &block, const net::LoopNest &nest,
                                              const RegionOptions &options);

/// The same after a change of `block`, if it has any: every repetition of a value made of indices, as of the numbers of
/// rows and columns that a mask compares, gets a value of its own. One that is repeated along rows and along columns
/// would be in no region.
llvm::SmallVector<ScoreRegion, 0> findRegionsWithMasks(mlir::Block &block, const RegionOptions &options);

/// True if what the members reduce along an axis are sums that only others read, so that tiles along it can add up.
/// Rows are such an axis, unless the region is transposed.
bool addsUp(const ScoreRegion &region, unsigned axis);

/// The number of values that are sums along an axis.
int64_t countSums(const ScoreRegion &region, unsigned axis);

/// Exchanges rows and columns.
void transpose(ScoreRegion &region);

/// Calls `replace` with the number of each region whose operations are still there; it returns whether it has replaced
/// the dependent members. Erases the other members of replaced regions that nothing reads any more.
void replaceRegions(llvm::ArrayRef<ScoreRegion> regions, llvm::function_ref<bool(size_t)> replace);

/// The value that `value` repeats or moves.
mlir::Value getRepeated(mlir::Value value);

} // namespace meshwright::tiling

#endif
