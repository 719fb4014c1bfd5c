//===- CudaCommunicator.cpp - one rank's collectives on a GPU -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaCommunicator.h"
#include "meshwright/runtime/Agreement.h"
#include <algorithm>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::runtime::cuda;

Result<uint32_t> CudaCommunicator::prepare(CollectiveCall call) {
  std::unique_ptr<Prepared> prepared = std::make_unique<Prepared>();
  if (call.members.size() > 1) {
    MW_TRY_ASSIGN(prepared, prepareGroup(call));
  }
  prepared->position = std::find(call.members.begin(), call.members.end(), rank) - call.members.begin();
  MW_TRY_ASSIGN(prepared->done, createEvent(device.getApi()));
  prepared->call = std::move(call);
  collectives.push_back(std::move(prepared));
  return static_cast<uint32_t>(collectives.size() - 1);
}

std::set<Members> CudaCommunicator::getGroups() const {
  std::set<Members> groups;
  for (const auto &prepared : collectives)
    if (prepared->call.members.size() > 1)
      groups.insert(prepared->call.members);
  return groups;
}

Status CudaCommunicator::execute(uint32_t number) {
  MW_TRY(start(number));
  return wait(number);
}

Status CudaCommunicator::start(uint32_t number) {
  Prepared &prepared = *collectives[number];
  MW_TRY(locate(prepared, device.fork(getStream())));
  MW_TRY(device.traceOn(getStream(), moments, [&] {
    return prepared.call.members.size() > 1 ? issue(prepared) : locate(prepared, copyParts(prepared.call));
  }));
  const CudaApi &api = device.getApi();
  return locate(prepared, api.check(api.cuEventRecord(prepared.done.get(), getStream()), "cuEventRecord"));
}

Status CudaCommunicator::wait(uint32_t number) {
  const Prepared &prepared = *collectives[number];
  return locate(prepared, device.join(prepared.done.get()));
}

void CudaCommunicator::setTrace(std::vector<TimeRange> *newTimes) {
  if (times)
    *times = device.getTimes(moments);
  moments.clear();
  times = newTimes;
}

Status CudaCommunicator::locate(const Prepared &prepared, const Status &status) const {
  return status.ok() ? status : status.within(describe(rank, prepared.call));
}

/// A collective in a group of one.
Status CudaCommunicator::copyParts(const CollectiveCall &call) const {
  for (const CallPart &part : call.parts) {
    uint64_t bytes = part.count * getSize(call.type);
    if (part.in && part.out && part.in != part.out && bytes != 0)
      MW_CALL(device.getApi(), cuMemcpyAsync, reinterpret_cast<CUdeviceptr>(part.out),
              reinterpret_cast<CUdeviceptr>(part.in), bytes, getStream());
  }
  return {};
}
