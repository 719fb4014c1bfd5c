//===- CopyQueue.cpp - copies beside the computation ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CopyQueue.h"
#include "meshwright/runtime/ThreadTime.h"
#include <algorithm>
#include <cstring>

using namespace meshwright::runtime;

Result<uint32_t> CopyQueue::prepare(std::byte *to, const std::byte *from, uint64_t bytes) {
  MW_TRY(queue.startThread("for copies between device and host"));
  copies.push_back({to, from, bytes});
  return queue.addItem();
}

Status CopyQueue::start(uint32_t number) {
  if (link)
    copies[number].issuedAt = Clock::now();
  return queue.start(number);
}

Status CopyQueue::run(Copy &copy) {
  double before = profiling ? getThreadSeconds() : 0;
  if (copy.bytes != 0)
    std::memcpy(copy.to, copy.from, copy.bytes);
  if (profiling)
    copy.cpuSeconds = getThreadSeconds() - before;
  if (!link || profiling)
    return {};
  // By the link's time, not by that of this thread, which may be late: lateness would add up.
  linkFree = std::max(copy.issuedAt, linkFree) + link->getDuration(static_cast<double>(copy.bytes));
  sleepUntil(linkFree);
  return {};
}
