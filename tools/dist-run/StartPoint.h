//===- StartPoint.h - where a run begins ------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A run begins anew, or goes on from a checkpoint of its own folder or of another one. The rules about folders that
// have checkpoints already, and about damaged ones, are here.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TOOLS_DISTRUN_STARTPOINT_H
#define MESHWRIGHT_TOOLS_DISTRUN_STARTPOINT_H

#include "Options.h"
#include "Progress.h"
#include "meshwright/runtime/CheckpointFolder.h"

namespace meshwright::tool {

struct StartPoint {
  /// The step to begin with, the batch that it takes, and the seed of the initial values.
  uint64_t step = 0, position = 0, seed = 0;
  /// The checkpoint to go on from; nothing for a run that begins anew.
  std::optional<runtime::Checkpoint> checkpoint;
  /// The folder in which the first process saves, if the run does.
  std::optional<runtime::CheckpointFolder> folder;
  /// True if the state before the first step is to be saved, because no step is left to run.
  bool isUnsaved = false;
};

/// Opens the folder of checkpoints and, to resume, the checkpoint to go on from. All processes call it and get the same
/// error.
runtime::Result<StartPoint> findStart(const Options &options, runtime::World &world, Progress &progress);

/// Restores the session. The error of a damaged checkpoint says how to go on from the one before it.
runtime::Status restoreFrom(const runtime::Checkpoint &checkpoint, runtime::Session &session, const Options &options);

} // namespace meshwright::tool

#endif
