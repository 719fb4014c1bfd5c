//===- Sharding.h - private to the sharding rules ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_RULES_SHARDING_SHARDING_H
#define MESHWRIGHT_LIB_RULES_SHARDING_SHARDING_H

#include "dialects/Dist/Interfaces.h"
#include "dialects/Net/Net.h"

namespace meshwright::sharding {

inline llvm::ArrayRef<int64_t> shapeOf(mlir::Value value) {
  return llvm::cast<mlir::RankedTensorType>(value.getType()).getShape();
}

/// Adds to `rule` that all results of a data movement are partial where `operands` are, whatever the reduction.
inline void passEveryReduction(dist::ShardingRule &rule, llvm::ArrayRef<unsigned> operands) {
  for (auto kind : {ReduceKind::Sum, ReduceKind::Product, ReduceKind::Max, ReduceKind::Min, ReduceKind::And,
                    ReduceKind::Or, ReduceKind::Tree})
    rule.partials.push_back({kind, {operands.begin(), operands.end()}});
}

/// Adds to `rule`, that of a product `op` of two operands, that a sum passes in either where the other one is known to
/// be finite: (2 - 1) times infinity is infinite, but 2 times infinity less 1 times infinity NaN, and so is 0 times
/// infinity on a rank that has no term. Nothing passes a square, whose factors would be partial both.
void passBilinear(dist::ShardingRule &rule, mlir::Operation *op);

/// Fixes the order of the sums of `op` if that is asked for (`net.sum_parts`): the first of `summed`, the factors over
/// which it sums, can be split into whole parts, the others stay whole, and no partial sum passes.
void fixOrder(dist::ShardingRule &rule, mlir::Operation *op, llvm::ArrayRef<unsigned> summed = {});

/// True if `value` is a constant zero, which is its own sum in every placement.
bool isZero(mlir::Value value);

void registerConstants(mlir::MLIRContext *context);
void registerContraction(mlir::MLIRContext *context);
void registerDynamic(mlir::MLIRContext *context);
void registerAccumulate(mlir::MLIRContext *context);
void registerElementwise(mlir::MLIRContext *context);
void registerIndexing(mlir::MLIRContext *context);
void registerLayout(mlir::MLIRContext *context);
void registerLoop(mlir::MLIRContext *context);
void registerMatrix(mlir::MLIRContext *context);
void registerOrder(mlir::MLIRContext *context);
void registerReduction(mlir::MLIRContext *context);
void registerWindow(mlir::MLIRContext *context);

} // namespace meshwright::sharding

#endif
