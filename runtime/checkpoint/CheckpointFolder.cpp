//===- CheckpointFolder.cpp - a folder of checkpoints ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A checkpoint with its final name is complete: files are written into a temporary folder and synced, and the folder is
// renamed. Whatever ends the process, the last complete checkpoint is there; an older one is deleted after that.
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/CheckpointFolder.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace meshwright;
using namespace meshwright::runtime;

namespace fs = std::filesystem;

/// The prefix of the names of incomplete folders.
static constexpr const char *temporaryPrefix = ".writing-";

static Status fail(const char *what, const std::string &path) {
  return inputError("cannot {} {}: {}", what, path, std::strerror(errno));
}

/// A folder's entries are on the disk when the folder is synced, whatever is known of its files.
static Status syncFolder(const std::string &path) {
  int descriptor = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0)
    return fail("open", path);
  Status status = fsync(descriptor) == 0 ? Status() : fail("write", path);
  ::close(descriptor);
  return status;
}

Result<CheckpointFolder> CheckpointFolder::open(const std::string &path) {
  std::error_code error;
  fs::create_directories(path, error);
  CheckpointFolder folder;
  folder.path = path;
  folder.descriptor = error ? -1 : ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (error)
    return inputError("cannot create {}: {}", path, error.message());
  if (folder.descriptor < 0)
    return fail("open", path);
  if (flock(folder.descriptor, LOCK_EX | LOCK_NB) != 0)
    return errno == EWOULDBLOCK ? inputError("another process writes checkpoints to {}", path) : fail("lock", path);
  MW_TRY(folder.removeLeftovers());
  return folder;
}

CheckpointFolder &CheckpointFolder::operator=(CheckpointFolder &&other) noexcept {
  std::swap(path, other.path);
  std::swap(descriptor, other.descriptor);
  return *this;
}

CheckpointFolder::~CheckpointFolder() {
  if (descriptor >= 0)
    ::close(descriptor);
}

Status CheckpointFolder::removeLeftovers() {
  std::error_code error;
  std::vector<fs::path> leftovers;
  for (const fs::directory_entry &entry : fs::directory_iterator(path, error))
    if (entry.path().filename().string().starts_with(temporaryPrefix))
      leftovers.push_back(entry.path());
  for (const fs::path &leftover : leftovers)
    if (!error)
      fs::remove_all(leftover, error);
  return error ? inputError("cannot clean {}: {}", path, error.message()) : Status();
}

Result<std::string> CheckpointFolder::begin() {
  // The name is this process's own; a folder that an error left stays until the next try.
  std::string temporary = fmt::format("{}/{}{}", path, temporaryPrefix, getpid());
  std::error_code error;
  fs::remove_all(temporary, error);
  if (mkdir(temporary.c_str(), 0777) != 0)
    return fail("create", temporary);
  return temporary;
}

Status CheckpointFolder::commit(const std::string &temporary, const CheckpointIndex &index) {
  MW_TRY_ASSIGN(OutputFile file, OutputFile::create(temporary + "/" + checkpointIndexName));
  MW_TRY(file.write(index.toJson()));
  MW_TRY(file.sync());
  MW_TRY(file.commit());
  MW_TRY(syncFolder(temporary));
  std::string name = path + "/" + getCheckpointName(index.step);
  bool replaces = ::access(name.c_str(), F_OK) == 0;
  // Exchanged, so that there is a checkpoint of that name at every moment.
  if (renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, name.c_str(), replaces ? RENAME_EXCHANGE : 0) != 0)
    return fail("create", name);
  MW_TRY(syncFolder(path));
  std::error_code error;
  if (replaces)
    fs::remove_all(temporary, error);
  return error ? inputError("cannot delete {}: {}", temporary, error.message()) : Status();
}

Status CheckpointFolder::prune(uint64_t keep) {
  MW_TRY_ASSIGN(auto found, listCheckpoints(path));
  if (found.size() <= keep)
    return {};
  std::optional<size_t> finite = findFinite(found, found.size());
  for (size_t i = 0; i + keep < found.size(); ++i) {
    if (i == finite)
      continue;
    // Renamed first, so that a half deleted folder is not taken for a checkpoint.
    std::string temporary = path + "/" + temporaryPrefix + "old-" + getCheckpointName(found[i].first);
    if (std::rename(found[i].second.c_str(), temporary.c_str()) != 0)
      return fail("delete", found[i].second);
    std::error_code error;
    fs::remove_all(temporary, error);
    if (error)
      return inputError("cannot delete {}: {}", temporary, error.message());
  }
  return {};
}
