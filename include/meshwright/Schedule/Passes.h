//===- Passes.h - the passes of Schedule ------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes that lower operations of one rank to the runtime's instructions: kernels, GEMMs and collectives on buffers of
// one arena.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SCHEDULE_PASSES_H
#define MESHWRIGHT_SCHEDULE_PASSES_H

#include "meshwright/Kernels/Passes.h"
#include "meshwright/Memory/Passes.h"
#include "meshwright/Overlap/Passes.h"
#include "meshwright/Pipelining/Passes.h"
#include "meshwright/Tiling/Passes.h"
#include "mlir/Pass/Pass.h"

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace meshwright::schedule {

#define GEN_PASS_DECL
#include "meshwright/Schedule/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "meshwright/Schedule/Passes.h.inc"

/// The strategy's options for Schedule. The members are the options of the passes and are documented there.
struct Options {
  TileRegionsPassOptions tiles;
  /// True for GPUs whose tensor cores compute an attention in one kernel.
  bool scoreKernels = false;
  FormKernelsPassOptions kernels;
  CommunicatePassOptions communicate;
  MaterializeCopiesPassOptions copies;
  /// True to overlap communication with computation; otherwise every conversion is one blocking collective at its
  /// place.
  bool overlap = true;
  /// True for GPUs, whose tensor cores read rows that begin at multiples of 16 bytes.
  bool padProducts = false;
};

/// Adds the passes of Schedule, in order.
void buildPipeline(mlir::OpPassManager &manager, const Options &options = {});

} // namespace meshwright::schedule

#endif
