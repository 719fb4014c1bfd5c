//===- CheckpointWriter.h - saving and resuming a run -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_CHECKPOINTWRITER_H
#define MESHWRIGHT_RUNTIME_CHECKPOINTWRITER_H

#include "meshwright/runtime/CheckpointFolder.h"
#include "meshwright/runtime/Session.h"

namespace meshwright::runtime {

/// Saves a session's variables beside its running steps: they are copied between two steps, and written by a thread of
/// each process, into one folder that all of them see. The first process gives the checkpoint its name when all are
/// done.
class CheckpointWriter {
public:
  /// Checkpoints go to `folder`, of which the last `keep` are kept; the first process has it open. The session outlives
  /// the writer. Memory for the copy of every rank is allocated once.
  static Result<std::unique_ptr<CheckpointWriter>> create(Session &session, std::optional<CheckpointFolder> folder,
                                                          uint64_t keep);
  ~CheckpointWriter();

  /// Copies the variables (accumulators only while an accumulation is under way) and starts to write them; first waits
  /// until the checkpoint before is written. Errors are of either.
  Status save(CheckpointState state);
  /// Between steps, on all processes: tells the first one what this one has written by now, which may complete a
  /// checkpoint.
  Status poll();
  /// Waits until everything is written.
  Status finish();
  /// The bytes of a rank's copy.
  uint64_t getCopyBytes(int64_t rank) const;

private:
  struct Implementation;
  explicit CheckpointWriter(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> implementation;
};

/// Gives every variable of the session its value from a checkpoint of any mesh, and the session its position in the
/// accumulation. The variables of both are the same, with the same types and shapes; errors name both. Checksums are
/// compared before anything is copied. Between accumulations accumulators are zero. While one is under way it has to
/// have the package's number of steps; an accumulator that is a sum of as many addends has them as they were, any other
/// one their sum.
Status restore(Session &session, const Checkpoint &checkpoint);

} // namespace meshwright::runtime

#endif
