//===- OneGpuCommunicator.cpp - a rank's collectives on its GPU -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OneGpuCommunicator.h"
#include "meshwright/runtime/Agreement.h"
#include <algorithm>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::runtime::cuda;

//===----------------------------------------------------------------------===//
// A member's share
//===----------------------------------------------------------------------===//

Status OneGpuCommunicator::StreamWork::reduce(std::span<const std::byte *const> inputs,
                                              std::span<std::byte *const> outputs, uint64_t begin, uint64_t end) {
  return kernels.launch(kernel, inputs, outputs, begin, end, device.getCommunicationStream());
}

Status OneGpuCommunicator::StreamWork::copy(std::byte *to, const std::byte *from, uint64_t bytes) {
  MW_CALL(device.getApi(), cuMemcpyAsync, reinterpret_cast<CUdeviceptr>(to), reinterpret_cast<CUdeviceptr>(from), bytes,
          device.getCommunicationStream());
  return {};
}

//===----------------------------------------------------------------------===//
// Before the first step
//===----------------------------------------------------------------------===//

Result<std::unique_ptr<CudaCommunicator::Prepared>> OneGpuCommunicator::prepareGroup(const CollectiveCall &call) {
  auto prepared = std::make_unique<OneGpuCollective>();
  CUfunction kernel = nullptr;
  if (isReducing(call.kind)) {
    // All members may want the result.
    auto found = backend.getKernels().find(call.reduction, call.type, 2 * call.members.size());
    if (!found.ok())
      return found.status().within(describe(rank, call));
    kernel = *found;
  }
  prepared->work.emplace(call.members.size(), backend.getKernels(), kernel, device);
  return std::unique_ptr<Prepared>(std::move(prepared));
}

Status OneGpuCommunicator::connect() {
  MW_TRY(device.use());
  // Ranks join groups in one order: none waits for a later group before an earlier one is complete.
  for (const Members &members : getGroups()) {
    OneGpuGroup &group = backend.getGroup(members);
    size_t position = std::find(members.begin(), members.end(), rank) - members.begin();
    for (std::vector<Event> *events : {&group.arrived, &group.worked}) {
      MW_TRY_ASSIGN((*events)[position], createEvent(device.getApi()));
    }
    CollectiveCall call;
    call.name = "the first meeting of its group";
    MW_TRY(backend.getHub().meet(*group.meeting, position, call, {}));
    MW_TRY(backend.getHub().leave(*group.meeting));
  }
  for (const auto &prepared : collectives)
    if (prepared->call.members.size() > 1)
      static_cast<OneGpuCollective &>(*prepared).group = &backend.getGroup(prepared->call.members);
  return {};
}

//===----------------------------------------------------------------------===//
// In a step
//===----------------------------------------------------------------------===//

Status OneGpuCommunicator::issue(Prepared &base) {
  auto &prepared = static_cast<OneGpuCollective &>(base);
  inproc::Hub &hub = backend.getHub();
  MW_TRY(locate(prepared, note(prepared.group->arrived[prepared.position])));
  MW_TRY(hub.meet(*prepared.group->meeting, prepared.position, prepared.call, {}));
  MW_TRY(locate(prepared, work(prepared)));
  MW_TRY(hub.leave(*prepared.group->meeting));
  return locate(prepared, joinOthers(prepared.group->worked, prepared.position));
}

Status OneGpuCommunicator::work(OneGpuCollective &prepared) {
  MW_TRY(joinOthers(prepared.group->arrived, prepared.position));
  MW_TRY(prepared.work->perform(prepared.group->meeting->calls, prepared.position));
  return note(prepared.group->worked[prepared.position]);
}

Status OneGpuCommunicator::note(const Event &event) {
  MW_CALL(device.getApi(), cuEventRecord, event.get(), getStream());
  return {};
}

/// Later requests of this rank's stream come after the events of the other members.
Status OneGpuCommunicator::joinOthers(const std::vector<Event> &events, size_t position) {
  for (size_t member = 0; member != events.size(); ++member)
    if (member != position)
      MW_CALL(device.getApi(), cuStreamWaitEvent, getStream(), events[member].get(), 0);
  return {};
}

void OneGpuCommunicator::finishStep(const Status &status) {
  inproc::Hub::Lock held = backend.getHub().lock();
  if (!status.ok())
    backend.getHub().abort(status);
  backend.getHub().pause();
}
