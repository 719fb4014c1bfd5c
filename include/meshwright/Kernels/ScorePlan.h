//===- ScorePlan.h - plans a kernel of scores by tiles -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel of scores (`scores` of `dist.kernel`) multiplies short matrices to a long one, of rows × columns, computes
// with its elements, and reduces them or multiplies them again. Its plan keeps no scores in memory: it computes them
// anew in every *pass*.
//
//     for every tile of an axis, the outer one             and for all heads and sequences: all at the same time
//       for every tile of the other axis, the inner one
//         the products of the tile                         scores: of one operand along each axis
//         what is computed of them, element by element
//         the targets of the pass                          sums along the inner axis, and products that contract it
//
// A softmax takes three passes along its rows: the maxima, the sums, and the product with the values. Its backward
// takes one more along its columns. A pass reads what earlier passes have left in memory.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_KERNELS_SCOREPLAN_H
#define MESHWRIGHT_KERNELS_SCOREPLAN_H

#include "dialects/Net/Net.h"
#include "meshwright/Kernels/PlannedKernel.h"

namespace meshwright::schedule {

/// True for the floats of 16 bits.
inline bool isShortFloat(mlir::Type element) { return element.isBF16() || element.isF16(); }

/// A matrix of 16-bit floats that a tile multiplies.
struct ScoreOperand {
  mlir::Value value;
  /// Its elements, of the kernel's inputs, with a loop for each dimension.
  PlannedValues planned;
  /// The dimension that the tile divides, and the other one of the matrix: the contracted one of an operand of scores,
  /// that of the result for one that scores are multiplied with.
  unsigned along, depth;
  /// The other dimensions, and their indices in variables of the pass.
  llvm::SmallVector<std::pair<unsigned, LinearForm>> fixed;

  int64_t getSize(unsigned dim) const { return planned.types.back().getDimSize(dim); }
  /// The loop of a dimension in the plan; nothing if the extent is 1.
  std::optional<unsigned> getLoop(unsigned dim) const;
};

/// A product that makes scores.
struct ScoreProduct {
  net::DotOp dot;
  /// The operand along the outer axis of the pass, and that along the inner one.
  ScoreOperand outer, inner;
  /// Its elements in the plan of the pass.
  Node *node;
};

/// A reduction of scores, or a product that reads them: the result of a pass.
struct ScoreTarget {
  mlir::Operation *op;
  /// Products only: the matrix that the scores are multiplied with; the position of an element of the result in it is
  /// `position` + `stride` · its index along the depth of the operand.
  std::optional<ScoreOperand> operand;
  LinearForm position;
  int64_t stride = 0;
};

struct ScorePass {
  /// The reductions, and the scores that products read: output i is that of target i.
  PlannedValues planned;
  std::vector<ScoreTarget> targets;
  std::vector<ScoreProduct> products;
  /// The loops of the two axes, of what is computed at the same time, and of what is summed beside the inner axis.
  unsigned outer, inner;
  llvm::SmallVector<unsigned> grid, summed;
  /// The tiles of the inner axis that a tile of the outer one reads: for each the first index and the end. Empty if
  /// they are all.
  llvm::SmallVector<std::pair<int64_t, int64_t>> visible;

  int64_t getExtent(unsigned loop) const { return planned.plan->variables[loop].extent; }
};

struct ScorePlan {
  /// Plans `kernel`, which has `scores`; null if its operations are not of the planned forms.
  static std::unique_ptr<ScorePlan> create(dist::KernelOp kernel);

  /// The most indices along the depth of an operand, and the most products and targets of a pass that are products.
  static constexpr int64_t kMostDepth = 128;
  static constexpr size_t kMostProducts = 2;

  /// In the order in which they run.
  std::vector<ScorePass> passes;
};

} // namespace meshwright::schedule

#endif
