//===- Passes.h - the passes of Schedule ------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From operations of one rank to what the runtime executes: kernels, products and collectives on buffers of one arena.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SCHEDULE_PASSES_H
#define MESHWRIGHT_SCHEDULE_PASSES_H

#include "meshwright/Support/Bytes.h"
#include "mlir/Pass/Pass.h"

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace meshwright::schedule {

/// Names of the discardable attributes that hold places in the arena.
inline constexpr llvm::StringLiteral kOffsetsAttr = "dist.offsets";
/// On operations of a loop that make values in their places in a stack: the bytes between those of two trips, for each
/// result; 0 for what has the same place in all.
inline constexpr llvm::StringLiteral kTripBytesAttr = "dist.trip_bytes";
inline constexpr llvm::StringLiteral kOffsetAttr = "dist.offset";
inline constexpr llvm::StringLiteral kArenaBytesAttr = "dist.arena_bytes";
inline constexpr llvm::StringLiteral kHostArenaBytesAttr = "dist.host_arena_bytes";
/// A unit, where the places that an operation states are in the arena of the host.
inline constexpr llvm::StringLiteral kInHostArenaAttr = "dist.in_host_arena";
inline constexpr llvm::StringLiteral kPersistentBytesAttr = "dist.persistent_bytes";
inline constexpr llvm::StringLiteral kVariablesAttr = "dist.variables";
/// On a variable, a unit: another program reads it where it is kept. Those come first in the memory of both.
inline constexpr llvm::StringLiteral kSharedAttr = "dist.shared";
/// On a module whose programs share the variables of others: the bytes at the beginning of the arenas, of the device
/// and of the host, that those keep from step to step. Nothing but shared variables has a place there.
inline constexpr llvm::StringLiteral kReservedAttr = "dist.reserved_bytes";
/// On programs of some times: the places of the function's results.
inline constexpr llvm::StringLiteral kOutputsAttr = "dist.outputs";
/// On collectives and loops of the programs of different ranks: a number that all members of a group have for one and
/// the same.
inline constexpr llvm::StringLiteral kTagAttr = "dist.tag";
/// On functions, a unit: what they exchange is started only, and waited for by an item of the schedule.
inline constexpr llvm::StringLiteral kStartsAttr = "dist.starts";
/// On products, a unit: the kernel behind is one that a library may compute with the product (ProductEpilogue.h), so
/// what the product reads stays until that is over.
inline constexpr llvm::StringLiteral kEpilogueAttr = "dist.epilogue";

/// From one slot of a value of `type` to the next.
inline int64_t getSlotBytes(mlir::RankedTensorType type) { return llvm::alignTo(getBytes(type), 64); }

#define GEN_PASS_DECL
#include "meshwright/Schedule/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "meshwright/Schedule/Passes.h.inc"

/// What a strategy says about Schedule. The members are the options of the passes and are documented there.
struct Options {
  FormKernelsPassOptions kernels;
  CommunicatePassOptions communicate;
  MaterializeCopiesPassOptions copies;
  /// Whether communication overlaps computation; without it every conversion is one collective where it stands.
  bool overlap = true;
};

/// Adds the passes of Schedule, in order.
void buildPipeline(mlir::OpPassManager &manager, const Options &options = {});

} // namespace meshwright::schedule

#endif
