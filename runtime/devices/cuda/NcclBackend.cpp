//===- NcclBackend.cpp - ranks that reach each other by NCCL --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Makes the communicators of all groups before the first step. The processes first agree on the list of groups, then
// on an identifier for each; groups are then connected in rounds in which no rank is in two, because a rank that waits
// in one group must not keep another waiting.
//
//===----------------------------------------------------------------------===//

#include "NcclBackend.h"
#include "NcclCommunicator.h"
#include <algorithm>
#include <cstring>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::runtime::cuda;

Result<std::unique_ptr<Backend>> NcclBackend::create(World &world, const BackendOptions &options,
                                                     std::span<const std::unique_ptr<Device>> devices) {
  std::unique_ptr<NcclBackend> backend(new NcclBackend(world, options));
  backend->range = world.getRanks(options.numRanks);
  assert(backend->range.size() == static_cast<int64_t>(devices.size()) && "a device for every rank of the process");
  if (options.numRanks > 1) {
    MW_TRY_ASSIGN(backend->api, NcclApi::load());
  }
  for (int64_t rank = backend->range.begin; rank != backend->range.end; ++rank)
    backend->communicators.push_back(std::make_unique<NcclCommunicator>(
        *backend, static_cast<CudaDevice &>(*devices[rank - backend->range.begin]), rank));
  return std::unique_ptr<Backend>(std::move(backend));
}

NcclBackend::NcclBackend(World &world, const BackendOptions &options) : world(world), options(options) {}
NcclBackend::~NcclBackend() = default;

Communicator &NcclBackend::getCommunicator(int64_t rank) { return *communicators[rank - range.begin]; }

//===----------------------------------------------------------------------===//
// Identifiers of groups
//===----------------------------------------------------------------------===//

/// A group and its identifier as bytes: the number of members, the members, the identifier.
static void append(Bytes &bytes, const Members &members, const ncclUniqueId &id) {
  uint64_t count = members.size();
  auto add = [&](const void *data, size_t size) {
    const auto *begin = static_cast<const std::byte *>(data);
    bytes.insert(bytes.end(), begin, begin + size);
  };
  add(&count, sizeof(count));
  add(members.data(), count * sizeof(int64_t));
  add(&id, sizeof(id));
}

static std::map<Members, ncclUniqueId> parse(const Bytes &bytes) {
  std::map<Members, ncclUniqueId> ids;
  const std::byte *next = bytes.data();
  auto take = [&](void *data, size_t size) {
    std::memcpy(data, next, size);
    next += size;
  };
  while (next != bytes.data() + bytes.size()) {
    uint64_t count = 0;
    take(&count, sizeof(count));
    Members members(count);
    take(members.data(), count * sizeof(int64_t));
    take(&ids[members], sizeof(ncclUniqueId));
  }
  return ids;
}

Status NcclBackend::exchange(const std::set<Members> &groups) {
  std::unique_lock held(mutex);
  ownGroups.insert(groups.begin(), groups.end());
  return meetWith(held, [&] { return exchangeIds(); });
}

Status NcclBackend::meet() {
  std::unique_lock held(mutex);
  return meetWith(held, [&] { return world.agree(Status()); });
}

/// The last of the ranks speaks for the process; the others sleep.
Status NcclBackend::meetWith(std::unique_lock<std::mutex> &held, const std::function<Status()> &speak) {
  if (isFailed)
    return failure;
  if (++arrived == range.size()) {
    met = speak();
    arrived = 0;
    ++meeting;
    changed.notify_all();
    return met;
  }
  changed.wait(held, [&, number = meeting] { return meeting != number || isFailed; });
  return isFailed ? failure : met;
}

/// Puts each group in the first round in which none of its ranks is in another one.
static std::vector<std::vector<Members>> findRounds(const std::map<Members, ncclUniqueId> &groups) {
  std::vector<std::vector<Members>> rounds;
  std::vector<std::set<int64_t>> busy;
  for (const auto &[members, id] : groups) {
    size_t round = 0;
    while (round != busy.size() &&
           std::any_of(members.begin(), members.end(), [&](int64_t rank) { return busy[round].contains(rank); }))
      ++round;
    if (round == busy.size()) {
      busy.emplace_back();
      rounds.emplace_back();
    }
    busy[round].insert(members.begin(), members.end());
    rounds[round].push_back(members);
  }
  return rounds;
}

/// The process of a group's first member makes its identifier, and the first process tells all others all of them.
Status NcclBackend::exchangeIds() {
  Bytes mine, all;
  Status made;
  for (const Members &members : ownGroups) {
    ncclUniqueId id = {};
    if (!made.ok() || !range.contains(members.front()))
      continue;
    made = api->check(api->ncclGetUniqueId(&id), "ncclGetUniqueId");
    append(mine, members, id);
  }
  MW_TRY(world.agree(made));
  MW_TRY_ASSIGN(std::vector<Bytes> parts, world.gatherForAll(mine));
  for (const Bytes &part : parts)
    all.insert(all.end(), part.begin(), part.end());
  ids = parse(all);
  rounds = findRounds(ids);
  return {};
}

//===----------------------------------------------------------------------===//
// Failures
//===----------------------------------------------------------------------===//

void NcclBackend::fail(const Status &status) {
  {
    std::lock_guard held(mutex);
    if (isFailed)
      return;
    failure = status;
    isFailed = true;
  }
  changed.notify_all();
  for (const auto &communicator : communicators)
    communicator->abort();
}

Status NcclBackend::getFailure() const {
  std::lock_guard held(mutex);
  return failure;
}
