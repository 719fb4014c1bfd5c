//===- Given.h - the given dialect ------------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECTS_GIVEN_GIVEN_H
#define MESHWRIGHT_DIALECTS_GIVEN_GIVEN_H

#include "dialects/Attributes/Attributes.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/Given/GivenDialect.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Given/GivenAttrs.h.inc"

namespace meshwright::given {

#include "dialects/Attributes/GivenDiscardable.h.inc"

/// Checks every sharding in `module` against the mesh of the module.
mlir::LogicalResult verifyShardings(mlir::Operation *module);
/// Removes the shardings of variables and inputs and their mesh from `module`, once placements have taken their place.
void forgetShardings(mlir::Operation *module);
/// Removes all shardings, constraints among them, from `module`: they mean nothing in a serial program.
void dropShardings(mlir::Operation *module);
/// The axes of the graph's mesh by the smallest priority of a dimension that they split; empty if all have the same.
llvm::SmallVector<mlir::Attribute> orderByPriority(mlir::Operation *module);

} // namespace meshwright::given

#define GET_OP_CLASSES
#include "dialects/Given/GivenOps.h.inc"

#endif
