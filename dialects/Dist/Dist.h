//===- Dist.h - the dist dialect --------------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECTS_DIST_DIST_H
#define MESHWRIGHT_DIALECTS_DIST_DIST_H

#include "dialects/Dist/CollectiveKind.h"
#include "dialects/Dist/Mesh.h"
#include "dialects/Dist/Traits.h"
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
/// On a mesh, an i64: the number of consecutive ranks that form a node; absent if all ranks are on one node.
inline constexpr llvm::StringLiteral kRanksPerNodeAttr = "dist.ranks_per_node";
/// On a mesh: the name of the pipeline's axis; absent if there is no pipeline.
inline constexpr llvm::StringLiteral kStageAxisAttr = "dist.stage_axis";
/// On a mesh with a pipeline's axis: the order of the actions of every coordinate, in the format of `writeCsv` of
/// TaskOrder.h. It also assigns stages to coordinates.
inline constexpr llvm::StringLiteral kTaskOrderAttr = "dist.task_order";
/// On operations of forward and backward in a pipeline, from Annotate on: the number of their stage. An operation
/// without it either depends on inputs and constants alone, and is computed on every stage that reads it, or belongs to
/// the update.
inline constexpr llvm::StringLiteral kStageAttr = "dist.stage";
/// On variables, arguments and results of functions of local type: the type of the global value.
inline constexpr llvm::StringLiteral kGlobalTypeAttr = "dist.global_type";
/// On an operation of the serial program, a unit: the reduction of its partial operands is deferred until after the
/// operation, whatever that costs. This is how a sum is communicated in another type, scaled before it is reduced, or
/// reduced together with others.
inline constexpr llvm::StringLiteral kTravelsAttr = "dist.travels";

/// On operations and functions of local type: the ranks that run them, by the coordinates of axes; absent if all do.
inline constexpr llvm::StringLiteral kOnAttr = "dist.on";
/// On assignments and results of functions: the times at which they take place, by the coordinates of axes of times;
/// absent if they always do. `{merge = array<i64: 3>}` is the last of four accumulation steps.
inline constexpr llvm::StringLiteral kDuringAttr = "dist.during";
/// On operations of forward and backward, if parameters are gathered before use (FSDP): the number of their segment.
/// Segments of forward and backward share one numbering. A read belongs to the segment that uses it.
inline constexpr llvm::StringLiteral kSegmentAttr = "dist.segment";
/// On reads and conversions that fetch a parameter: the segment at whose beginning the fetch is started.
inline constexpr llvm::StringLiteral kFetchAtAttr = "dist.fetch_at";
/// On conversions: the reason for them, for `--plan` and `--explain`.
inline constexpr llvm::StringLiteral kReasonAttr = "dist.reason";

/// On functions that are part of a step in a pipeline: the name of the action, which a `dist.schedule` orders.
inline constexpr llvm::StringLiteral kWorkAttr = "dist.work";
/// On variables that hold a value within a step: the number of micro-batches whose values they hold at once. The value
/// of micro-batch b is in slot b modulo this number; absent if all micro-batches share one value.
inline constexpr llvm::StringLiteral kSlotsAttr = "dist.slots";

/// On a variable: the memory in which it is kept; absent for the device's memory.
inline constexpr llvm::StringLiteral kMemoryAttr = "dist.memory";

/// On a collective of several parts (a bucket): the name of each part. The fused location of the operation has the
/// parts' locations in the same order.
inline constexpr llvm::StringLiteral kPartsAttr = "dist.parts";

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
inline bool travels(mlir::Operation *op) { return op->hasAttr(kTravelsAttr); }
/// Makes `op` defer the reduction of its partial operands.
inline void setTravels(mlir::Operation *op) {
  op->setDiscardableAttr(kTravelsAttr, mlir::UnitAttr::get(op->getContext()));
}

} // namespace meshwright::dist

#endif
