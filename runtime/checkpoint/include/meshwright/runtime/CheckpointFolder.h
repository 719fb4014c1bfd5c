//===- CheckpointFolder.h - a folder of checkpoints -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_CHECKPOINTFOLDER_H
#define MESHWRIGHT_RUNTIME_CHECKPOINTFOLDER_H

#include "meshwright/runtime/Checkpoint.h"

namespace meshwright::runtime {

/// A folder of checkpoints that this process alone writes to, as long as it is open.
class CheckpointFolder {
public:
  /// Makes the folder if need be, locks it, and deletes what an interrupted process left half written.
  static Result<CheckpointFolder> open(const std::string &path);
  CheckpointFolder(CheckpointFolder &&other) noexcept { *this = std::move(other); }
  CheckpointFolder &operator=(CheckpointFolder &&other) noexcept;
  ~CheckpointFolder();

  const std::string &getPath() const { return path; }
  /// A new folder for a checkpoint's files, under a temporary name.
  Result<std::string> begin();
  /// Writes the index into the temporary folder, and gives the folder its name once all of it is on the disk. An older
  /// checkpoint of that name is replaced at once.
  Status commit(const std::string &temporary, const CheckpointIndex &index);
  /// Deletes all checkpoints but the last `keep` and, where none of these is finite, the last one that is.
  Status prune(uint64_t keep);

private:
  CheckpointFolder() = default;
  Status removeLeftovers();
  std::string path;
  int descriptor = -1;
};

} // namespace meshwright::runtime

#endif
