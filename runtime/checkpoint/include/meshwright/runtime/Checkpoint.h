//===- Checkpoint.h - the state of a run on disk ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A checkpoint is a folder `step-000000000012`: a safetensors file per rank with what it owns, and `index.json`
// (CheckpointIndex.h). It gets its name when all of it is on the disk, so a folder of that name is complete, or was
// damaged later. Files may be hostile: everything is checked when it is opened, checksums when it is read.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_CHECKPOINT_H
#define MESHWRIGHT_RUNTIME_CHECKPOINT_H

#include "meshwright/runtime/CheckpointIndex.h"
#include "meshwright/runtime/SafeTensors.h"

namespace meshwright::runtime {

/// The name of the checkpoint after so many steps, and of the index in it.
std::string getCheckpointName(uint64_t step);
constexpr const char *checkpointIndexName = "index.json";

/// The checkpoints in a folder, as steps and paths, by ascending step. A folder that is not there has none.
Result<std::vector<std::pair<uint64_t, std::string>>> listCheckpoints(const std::string &folder);

/// The checkpoint that a path means: itself, or the newest one in it; nothing if there is none.
Result<std::optional<std::string>> findCheckpoint(const std::string &path);

/// The last of the first `count` checkpoints of a list whose index can be read and does not say that the state is not
/// finite; nothing if there is none. Files are not looked at.
std::optional<size_t> findFinite(std::span<const std::pair<uint64_t, std::string>> checkpoints, size_t count);

/// An open checkpoint, mapped; nothing is read before it is needed.
class Checkpoint {
public:
  /// Opens a checkpoint's folder and checks that the index and the files agree and every variable is complete.
  static Result<Checkpoint> open(const std::string &folder);

  const std::string &getFolder() const { return folder; }
  const CheckpointIndex &getIndex() const { return index; }
  /// Compares the checksum of a part with that of the index.
  Status verify(size_t variable, size_t part) const;
  /// Compares all of them.
  Status verify() const;
  /// Copies what `to` has of a variable into its array: the sum of its addends, in their order.
  void read(size_t variable, const Box &to, std::byte *target) const;
  /// Copies what `to` has of one of the addends.
  void readAddend(size_t variable, uint64_t addend, const Box &to, std::byte *target) const;
  /// Copies all of a variable.
  void readWhole(size_t variable, std::span<std::byte> whole) const;

private:
  struct Part {
    uint64_t addend;
    Box box;
    std::span<const std::byte> bytes;
  };
  Status openFiles();
  Status openVariable(const CheckpointVariable &variable);
  std::string folder;
  CheckpointIndex index;
  std::map<std::string, SafeTensors> files;
  /// For every variable of the index.
  std::vector<std::vector<Part>> parts;
};

} // namespace meshwright::runtime

#endif
