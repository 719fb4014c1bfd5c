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
  for (auto kind : {dist::ReduceKind::Sum, dist::ReduceKind::Product, dist::ReduceKind::Max, dist::ReduceKind::Min,
                    dist::ReduceKind::And, dist::ReduceKind::Or})
    rule.partials.push_back({kind, {operands.begin(), operands.end()}});
}

/// Whether `value` is a constant zero, which is its own sum in whatever placement.
bool isZero(mlir::Value value);

void registerConstants(mlir::MLIRContext *context);
void registerContraction(mlir::MLIRContext *context);
void registerDynamic(mlir::MLIRContext *context);
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
