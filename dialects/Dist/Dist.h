//===- Dist.h - the dist dialect --------------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECTS_DIST_DIST_H
#define MESHWRIGHT_DIALECTS_DIST_DIST_H

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

/// Names of the discardable attributes that hold placements; see the dialect's description.
inline constexpr llvm::StringLiteral kResultsAttr = "dist.results";
inline constexpr llvm::StringLiteral kOperandsAttr = "dist.operands";
inline constexpr llvm::StringLiteral kComputesAttr = "dist.computes";
inline constexpr llvm::StringLiteral kMappingAttr = "dist.mapping";
/// On a mesh: the names of the axes that split the batch.
inline constexpr llvm::StringLiteral kDataAxesAttr = "dist.data_axes";
/// On a mesh, an i64: a node is so many consecutive ranks; absent where all are near each other.
inline constexpr llvm::StringLiteral kRanksPerNodeAttr = "dist.ranks_per_node";
/// On a mesh: the name of the axis along which the ranks are a pipeline; absent where they are none.
inline constexpr llvm::StringLiteral kStageAxisAttr = "dist.stage_axis";
/// On a mesh with such an axis: in which order its coordinates work on the stages of the network, as `writeCsv` of
/// TaskOrder.h writes it. Which coordinate has which stage is read from it too.
inline constexpr llvm::StringLiteral kTaskOrderAttr = "dist.task_order";
/// On operations of forward and backward in a pipeline, from Annotate on: the number of their stage. What has none is
/// made of inputs and constants alone and computed wherever it is read, or belongs to the update.
inline constexpr llvm::StringLiteral kStageAttr = "dist.stage";
/// On variables, arguments and results of functions of local type: the type of the whole value.
inline constexpr llvm::StringLiteral kGlobalTypeAttr = "dist.global_type";
/// On an operation of the serial program, a unit: a partial operand passes through it before it is reduced, whatever
/// that costs. Where a sum travels in another type, or is scaled first, or meets others, is written so.
inline constexpr llvm::StringLiteral kTravelsAttr = "dist.travels";

/// On operations and functions of local type: the ranks that run them, by the coordinates of axes; absent where all do.
inline constexpr llvm::StringLiteral kOnAttr = "dist.on";
/// On assignments and results of functions: the times at which they take place, by the coordinates of axes of times;
/// absent where that is always. `{merge = array<i64: 3>}` is the last of four steps.
inline constexpr llvm::StringLiteral kDuringAttr = "dist.during";
/// On operations of forward and backward, when parameters are fetched: the number of their segment, forward and
/// backward in one count. A read is of the segment that it is for.
inline constexpr llvm::StringLiteral kSegmentAttr = "dist.segment";
/// On reads and conversions that fetch a parameter: the segment with whose beginning the fetch starts.
inline constexpr llvm::StringLiteral kFetchAtAttr = "dist.fetch_at";
/// On conversions: why they are there, for `--plan` and `--explain`.
inline constexpr llvm::StringLiteral kReasonAttr = "dist.reason";

/// On functions that are part of a step in a pipeline: the name of the work, which a `dist.schedule` orders.
inline constexpr llvm::StringLiteral kWorkAttr = "dist.work";
/// On variables that hold something within a step: for how many micro-batches at once. That of micro-batch b is in slot
/// b modulo this number; absent where there is one value for all.
inline constexpr llvm::StringLiteral kSlotsAttr = "dist.slots";

/// On a variable: the memory in which it is kept; absent where that is the device's.
inline constexpr llvm::StringLiteral kMemoryAttr = "dist.memory";

/// On a launch of several parts: the name of each. Their locations are those of the operation, fused, in the same
/// order.
inline constexpr llvm::StringLiteral kPartsAttr = "dist.parts";

/// The mesh operation of a module; null where it has none.
MeshOp findMesh(mlir::ModuleOp module);

/// The dims mapping of `value` as its defining operation or block argument states it; null where it has none.
MappingAttr getMapping(mlir::Value value);

/// The tensor type of a value, in flight or not.
mlir::RankedTensorType getTensorType(mlir::Type type);

/// States the dims mapping of `value`.
void setMapping(mlir::Value value, MappingAttr mapping);

/// Whether `variable` is kept in the memory of the host.
bool isOnHost(mlir::Operation *variable);

/// Whether partial operands pass through `op` before they are reduced.
inline bool travels(mlir::Operation *op) { return op->hasAttr(kTravelsAttr); }
/// States that they do.
inline void setTravels(mlir::Operation *op) {
  op->setDiscardableAttr(kTravelsAttr, mlir::UnitAttr::get(op->getContext()));
}

} // namespace meshwright::dist

#endif
