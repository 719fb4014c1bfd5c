//===- Dist.h - the dist dialect --------------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECTS_DIST_DIST_H
#define MESHWRIGHT_DIALECTS_DIST_DIST_H

#include "dialects/Attributes/Attributes.h"
#include "dialects/Common/ReduceKind.h"
#include "dialects/Common/Traits.h"
#include "dialects/Dist/CollectiveKind.h"
#include "dialects/Dist/Mesh.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/Dist/DistDialect.h.inc"
#include "dialects/Dist/DistEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Dist/DistAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/Dist/DistConversionInterface.h.inc"
#include "dialects/Dist/DistTypes.h.inc"
#define GET_OP_CLASSES
#include "dialects/Dist/DistOps.h.inc"

namespace meshwright::dist {

#include "dialects/Attributes/DistDiscardable.h.inc"

/// The rows for which `scores` of a kernel say together which columns are visible.
inline constexpr int64_t kRowsOfVisible = 64;

/// The mesh operation of a module; null where it has none.
MeshOp findMesh(mlir::ModuleOp module);

/// The dims mapping of `value` as its defining operation or block argument states it; null if there is none.
MappingAttr getMapping(mlir::Value value);

/// The tensor type of a value whose type is a tensor or an async handle of one.
mlir::RankedTensorType getTensorType(mlir::Type type);

/// States the dims mapping of `value`.
void setMapping(mlir::Value value, MappingAttr mapping);

/// True if `variable` is kept in the memory of the host.
bool isOnHost(mlir::Operation *variable);

/// True if `op` defers the reduction of its partial operands.
inline bool defersReduction(mlir::Operation *op) { return kDeferReductionAttr.isOn(op); }
/// Makes `op` defer the reduction of its partial operands.
inline void setDefersReduction(mlir::Operation *op) {
  kDeferReductionAttr.set(op, mlir::UnitAttr::get(op->getContext()));
}

} // namespace meshwright::dist

#endif
