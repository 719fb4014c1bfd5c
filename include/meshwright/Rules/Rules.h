//===- Rules.h - what the operations of net mean ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each function attaches one aspect of meaning to the operations of `net` as external models, the way a framework
// attaches it to the operations of its own dialect.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RULES_RULES_H
#define MESHWRIGHT_RULES_RULES_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace meshwright {

/// How operations may be split over ranks, and what they become: `dist::ShardingOpInterface`.
void registerNetSharding(mlir::DialectRegistry &registry);
/// How operations are differentiated.
void registerNetDerivatives(mlir::DialectRegistry &registry);
/// How operations are computed: `dist::KernelOpInterface`.
void registerNetKernels(mlir::DialectRegistry &registry);
/// What operations cost: `dist::CostOpInterface`.
void registerNetCosts(mlir::DialectRegistry &registry);
/// The types in which mixed precision computes operations: `net::PrecisionOpInterface`.
void registerNetPrecisions(mlir::DialectRegistry &registry);

} // namespace meshwright

#endif
