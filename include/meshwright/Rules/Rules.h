//===- Rules.h - registers the interfaces of the operations of net -*- C++ -*===//
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

/// Registers `dist::ShardingOpInterface`: the ways to split an operation over ranks, and its local form.
void registerNetSharding(mlir::DialectRegistry &registry);
/// Registers the derivatives of operations.
void registerNetDerivatives(mlir::DialectRegistry &registry);
/// Registers `dist::KernelOpInterface`: the lowering of an operation to loops.
void registerNetKernels(mlir::DialectRegistry &registry);
/// Registers `dist::CostOpInterface`: the FLOPs and bytes of an operation.
void registerNetCosts(mlir::DialectRegistry &registry);
/// The types in which mixed precision computes operations: `net::PrecisionOpInterface`.
void registerNetPrecisions(mlir::DialectRegistry &registry);
/// The simpler values that operations equal: `net::FoldOpInterface`.
void registerNetFolds(mlir::DialectRegistry &registry);
/// How results depend on a subtracted maximum: `net::ShiftOpInterface`.
void registerNetShifts(mlir::DialectRegistry &registry);
/// How operations are done for batches of operands: `net::BatchOpInterface`.
void registerNetBatches(mlir::DialectRegistry &registry);

} // namespace meshwright

#endif
