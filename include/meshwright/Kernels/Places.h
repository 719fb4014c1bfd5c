//===- Places.h - attributes that hold places in memory ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_KERNELS_PLACES_H
#define MESHWRIGHT_KERNELS_PLACES_H

#include "meshwright/Support/Bytes.h"
#include "mlir/IR/BuiltinTypes.h"

namespace meshwright::schedule {

/// Names of the discardable attributes that hold places in the arena.
inline constexpr llvm::StringLiteral kOffsetsAttr = "dist.offsets";
/// On operations of a loop whose results lie in a stack: the distance in bytes between the results of two consecutive
/// iterations, for each result; 0 for a result with the same place in all iterations.
inline constexpr llvm::StringLiteral kTripBytesAttr = "dist.trip_bytes";
inline constexpr llvm::StringLiteral kOffsetAttr = "dist.offset";
inline constexpr llvm::StringLiteral kArenaBytesAttr = "dist.arena_bytes";
inline constexpr llvm::StringLiteral kHostArenaBytesAttr = "dist.host_arena_bytes";
/// A unit: the places that the operation states are in the host's arena.
inline constexpr llvm::StringLiteral kInHostArenaAttr = "dist.in_host_arena";
inline constexpr llvm::StringLiteral kPersistentBytesAttr = "dist.persistent_bytes";
inline constexpr llvm::StringLiteral kVariablesAttr = "dist.variables";
/// On a variable, a unit: another program reads it where it is kept. Shared variables come first in the memory of both.
inline constexpr llvm::StringLiteral kSharedAttr = "dist.shared";
/// On a module whose programs share variables of another module: the bytes at the beginning of the arenas of device and
/// host that the other module's programs keep from step to step. Only shared variables have places there.
inline constexpr llvm::StringLiteral kReservedAttr = "dist.reserved_bytes";
/// On programs that run at some times only: the places of the function's results.
inline constexpr llvm::StringLiteral kOutputsAttr = "dist.outputs";
/// On collectives and loops of the programs of different ranks: a number that identifies the same operation in the
/// programs of all members of its group.
inline constexpr llvm::StringLiteral kTagAttr = "dist.tag";
/// On functions, a unit: their exchanges are only started; an item of the schedule waits for them.
inline constexpr llvm::StringLiteral kStartsAttr = "dist.starts";
/// On GEMMs, a unit: a library may compute the following kernel together with the GEMM (ProductEpilogue.h), so the
/// GEMM's operands stay in memory until the kernel is over.
inline constexpr llvm::StringLiteral kEpilogueAttr = "dist.epilogue";

/// The distance in bytes between consecutive slots of a stack of values of `type`.
inline int64_t getSlotBytes(mlir::RankedTensorType type) { return llvm::alignTo(getBytes(type), 64); }

} // namespace meshwright::schedule

#endif
