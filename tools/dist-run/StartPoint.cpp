//===- StartPoint.cpp - where a run begins --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StartPoint.h"
#include "CompareProcesses.h"
#include "meshwright/runtime/CheckpointWriter.h"
#include <cerrno>
#include <cstring>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::tool;

static const std::string &getResumePath(const Options &options) {
  return options.resumeFrom.empty() ? options.checkpoint : options.resumeFrom;
}

/// The newest checkpoint that is whole; empty where there is none at all.
static Result<std::string> findIntact(const Options &options, Progress &progress) {
  const std::string &path = getResumePath(options);
  MW_TRY_ASSIGN(auto found, listCheckpoints(path));
  for (size_t i = found.size(); i-- != 0;) {
    auto checkpoint = Checkpoint::open(found[i].second);
    Status status = checkpoint.ok() ? checkpoint->verify() : checkpoint.status();
    if (status.ok())
      return found[i].second;
    progress.warn(fmt::format("{} is damaged and passed over: {}", found[i].second, status.message()));
    // A folder in which the run saves has no checkpoint of a later step than it goes on from.
    std::string aside = fmt::format("{}/damaged-{}", path, getCheckpointName(found[i].first));
    if (path == options.checkpoint && std::rename(found[i].second.c_str(), aside.c_str()) != 0)
      return inputError("cannot rename {} to {}: {}", found[i].second, aside, std::strerror(errno));
  }
  return found.empty() ? Result<std::string>(std::string())
                       : inputError("none of the {} checkpoints in {} is whole", found.size(), path);
}

/// The first process reads all of the newest checkpoint, and of the one before it if that one is damaged, and so on;
/// the others learn which of them it is.
static Result<std::string> passOverDamaged(const Options &options, World &world, Progress &progress) {
  auto found = world.isFirst() ? findIntact(options, progress) : Result<std::string>(std::string());
  MW_TRY(world.agree(found.status()));
  std::span<const std::byte> name = std::as_bytes(std::span(*found));
  MW_TRY_ASSIGN(Bytes shared, world.share(Bytes(name.begin(), name.end())));
  return std::string(reinterpret_cast<const char *>(shared.data()), shared.size());
}

/// The same error, and how to go on from the checkpoint before a damaged one.
static Status suggestEarlier(const Status &status, const std::string &damaged, const Options &options) {
  auto found = listCheckpoints(getResumePath(options));
  if (status.ok() || !found.ok())
    return status;
  for (size_t i = 1; i < found->size(); ++i)
    if ((*found)[i].second == damaged)
      return Status(status.code(),
                    fmt::format("{}; the checkpoint before it is {}, and --resume-intact goes on from the newest "
                                "that is whole",
                                status.message(), (*found)[i - 1].second));
  return status;
}

/// From `intact` where damaged ones were passed over.
static Status openCheckpoint(StartPoint &start, const std::string &intact, const Options &options, Progress &progress) {
  const std::string &path = intact.empty() ? getResumePath(options) : intact;
  MW_TRY_ASSIGN(std::optional<std::string> found, findCheckpoint(path));
  if (!found && !options.resumeFrom.empty())
    return inputError("{} has no checkpoint", path);
  if (!found) {
    progress.log(fmt::format("{} has no checkpoint: the run begins", path));
    return {};
  }
  auto opened = Checkpoint::open(*found);
  MW_TRY(suggestEarlier(opened.status(), *found, options));
  start.checkpoint.emplace(std::move(*opened));
  const CheckpointIndex &index = start.checkpoint->getIndex();
  if (index.step > options.steps)
    return inputError("{} is of step {} but --steps={} ends before it", *found, index.step, options.steps);
  start.step = index.step;
  start.position = index.dataPosition;
  start.seed = index.seed;
  progress.skip(start.step);
  progress.log(fmt::format("{}: the run goes on at step {}", *found, start.step));
  return {};
}

static Status open(StartPoint &start, const std::string &intact, const Options &options, const World &world,
                   Progress &progress) {
  std::vector<std::pair<uint64_t, std::string>> found;
  if (!options.checkpoint.empty()) {
    if (world.isFirst()) {
      MW_TRY_ASSIGN(start.folder, CheckpointFolder::open(options.checkpoint));
    }
    MW_TRY_ASSIGN(found, listCheckpoints(options.checkpoint));
  }
  if (options.resume)
    MW_TRY(openCheckpoint(start, intact, options, progress));
  else if (!found.empty())
    return inputError("{} has a checkpoint of step {}; --resume goes on from it, another folder begins anew",
                      options.checkpoint, found.back().first);
  if (!found.empty() && found.back().first > start.step)
    return inputError("{} has a checkpoint of step {} but the run goes on from step {}; delete the one or name "
                      "another folder",
                      options.checkpoint, found.back().first, start.step);
  start.isUnsaved =
      !options.checkpoint.empty() && start.step == options.steps && (found.empty() || found.back().first != start.step);
  return {};
}

Result<StartPoint> meshwright::tool::findStart(const Options &options, World &world, Progress &progress) {
  StartPoint start;
  start.seed = options.seed;
  std::string intact;
  if (options.resumeIntact) {
    MW_TRY_ASSIGN(intact, passOverDamaged(options, world, progress));
  }
  MW_TRY(world.agree(open(start, intact, options, world, progress)));
  MW_TRY(compareCheckpoints(start.checkpoint, world));
  return start;
}

Status meshwright::tool::restoreFrom(const Checkpoint &checkpoint, Session &session, const Options &options) {
  Status status = restore(session, checkpoint);
  // A package with other variables is no damage.
  return status.ok() || checkpoint.verify().ok() ? status : suggestEarlier(status, checkpoint.getFolder(), options);
}
