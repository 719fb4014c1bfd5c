//===- FetchQueue.cpp - when parameters are fetched -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels of neighbouring segments may come in turns, so a bound by segments alone would let more be alive than one
// segment and the next: what is still read counts, and the fetch comes a little later.
//
//===----------------------------------------------------------------------===//

#include "FetchQueue.h"
#include "meshwright/Memory/Storage.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::schedule;

static int64_t getInteger(Operation *op, StringRef name, int64_t otherwise) {
  auto attr = op->getAttrOfType<IntegerAttr>(name);
  return attr ? attr.getInt() : otherwise;
}

void FetchQueue::add(ArrayRef<Operation *> ops, const Traffic &traffic, LaunchTable &launches) {
  llvm::MapVector<Attribute, Launch *> known;
  for (Operation *op : ops) {
    auto collective = dyn_cast<dist::CollectiveOp>(op);
    if (!collective || traffic.getPurpose(collective) != Traffic::Purpose::Fetch)
      continue;
    Launch *&launch = known[launches.getKey(collective)];
    if (!launch) {
      launch = &launches.create(Traffic::Purpose::Fetch);
      launch->startsAt = getInteger(op, dist::kFetchAtAttr, 0);
      launch->segment = getInteger(op, dist::kSegmentAttr, launch->startsAt);
      fetches.push_back(launch);
    }
    launches.add(*launch, collective);
    countReaders(collective);
    launch->liveBytes += fetchedBytes[collective];
  }
  llvm::sort(fetches, [](Launch *left, Launch *right) {
    return std::make_tuple(left->startsAt, left->segment, left->number) <
           std::make_tuple(right->startsAt, right->segment, right->number);
  });
}

Launch *FetchQueue::findNext(int64_t segment) {
  for (; next < fetches.size() && fetches[next]->startsAt <= segment; ++next) {
    Launch &fetch = *fetches[next];
    if (fetch.state != Launch::Collecting)
      continue;
    return liveBytes > 0 && live > 0 && live + fetch.liveBytes > liveBytes ? nullptr : &fetch;
  }
  return nullptr;
}

/// Finds the operations that read what `member` fetches, or copies of it in another layout, which count as it does.
void FetchQueue::countReaders(dist::CollectiveOp member) {
  SmallVector<Operation *> stack = {member};
  llvm::DenseSet<Operation *> readers;
  int64_t &bytes = fetchedBytes[member];
  bytes = Storage::getBytes(member.getResult(0).getType());
  while (!stack.empty())
    for (Operation *user : stack.pop_back_val()->getUsers()) {
      if (!readers.insert(user).second)
        continue;
      fetchedBy[user].push_back(member);
      if (!Traffic::isLayout(user) || user->getNumOperands() != 1)
        continue;
      stack.push_back(user);
      bytes += isa<dist::KernelOp>(user) ? Storage::getBytes(user->getResult(0).getType()) : 0;
    }
  readersLeft[member] = readers.size();
}

void FetchQueue::countRead(Operation *reader) {
  auto found = fetchedBy.find(reader);
  if (found == fetchedBy.end())
    return;
  for (Operation *member : found->second)
    if (--readersLeft[member] == 0)
      live -= fetchedBytes[member];
}
