//===- ShardingForms.h - shardings as Shardy writes them --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Meshes and shardings are parsed into dictionaries of builtin attributes, with these entries. An axis is the string of
// its name; a part of an axis, `"x":(2)4`, is the list of its name and the two numbers.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_STABLEHLO_SHARDINGFORMS_H
#define MESHWRIGHT_LIB_STABLEHLO_SHARDINGFORMS_H

#include "mlir/IR/OpImplementation.h"

namespace meshwright::importer {

/// Entries of a mesh: the names of its axes, an `array<i64>` of their sizes, and one of the devices in the order of the
/// coordinates, where it lists them.
inline constexpr llvm::StringLiteral kAxesEntry = "axes", kSizesEntry = "sizes", kDevicesEntry = "devices";
/// Entries of a sharding: the symbol of a mesh, or a mesh; a list of dimensions; lists of axes.
inline constexpr llvm::StringLiteral kMeshEntry = "mesh", kDimsEntry = "dims", kReplicatedEntry = "replicated",
                                     kUnreducedEntry = "unreduced";
/// Entries of a dimension beside its axes: a unit where it is open, and its priority where it has one.
inline constexpr llvm::StringLiteral kOpenEntry = "open", kPriorityEntry = "priority";

/// Parses `<["x"=2, "y"=4], device_ids=[…]>`.
mlir::ParseResult parseMesh(mlir::AsmParser &parser, mlir::Attribute &mesh);
/// Parses `<@mesh, [{"x"}, {?}p1], replicated={"y"}, unreduced={"z"}>`.
mlir::ParseResult parseSharding(mlir::AsmParser &parser, mlir::Attribute &sharding);
/// Parses axes and parts of axes in braces.
mlir::ParseResult parseAxes(mlir::AsmParser &parser, mlir::ArrayAttr &axes);
/// Parses a list of shardings in square brackets.
mlir::ParseResult parseShardings(mlir::AsmParser &parser, mlir::Attribute &shardings);

/// Parses the short forms of `sdy.mesh`, `sdy.sharding_constraint` (and `sdy.reshard`), `sdy.sharding_group` and
/// `sdy.propagation_barrier`.
mlir::ParseResult parseSdyMesh(mlir::OpAsmParser &parser, mlir::OperationState &state);
mlir::ParseResult parseSdyConstraint(mlir::OpAsmParser &parser, mlir::OperationState &state);
mlir::ParseResult parseSdyGroup(mlir::OpAsmParser &parser, mlir::OperationState &state);
mlir::ParseResult parseSdyBarrier(mlir::OpAsmParser &parser, mlir::OperationState &state);

} // namespace meshwright::importer

#endif
