//===- NcclCommunicator.cpp - one rank's collectives on a GPU -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NcclCommunicator.h"
#include "../Agreement.h"
#include <algorithm>
#include <chrono>
#include <thread>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::runtime::cuda;

//===----------------------------------------------------------------------===//
// What NCCL calls it
//===----------------------------------------------------------------------===//

static std::optional<ncclDataType_t> getType(DType type) {
  switch (type) {
  case F32:
    return ncclFloat32;
  case F64:
    return ncclFloat64;
  case BF16:
    return ncclBfloat16;
  case F16:
    return ncclFloat16;
  case I8:
    return ncclInt8;
  case I1:
  case U8:
    return ncclUint8;
  case I32:
    return ncclInt32;
  case U32:
    return ncclUint32;
  case I64:
    return ncclInt64;
  case U64:
    return ncclUint64;
  default:
    return std::nullopt;
  }
}

/// Of 0 and 1 `and` is the minimum and `or` the maximum.
static std::optional<ncclRedOp_t> getReduction(Collective::Reduction reduction, DType type) {
  switch (reduction) {
  case Collective::SUM:
    return ncclSum;
  case Collective::PRODUCT:
    return ncclProd;
  case Collective::MAX:
    return ncclMax;
  case Collective::MIN:
    return ncclMin;
  case Collective::AND:
    return type == I1 ? std::optional(ncclMin) : std::nullopt;
  case Collective::OR:
    return type == I1 ? std::optional(ncclMax) : std::nullopt;
  default:
    return std::nullopt;
  }
}

//===----------------------------------------------------------------------===//
// Before the first step
//===----------------------------------------------------------------------===//

NcclCommunicator::~NcclCommunicator() {
  (void)device.use();
  if (backend.hasFailed())
    abort();
  for (auto [members, comm] : comms) {
    (void)backend.getApi().ncclCommFinalize(comm);
    // What was issued is waited for.
    if (settle(comm).ok())
      (void)backend.getApi().ncclCommDestroy(comm);
    else
      (void)backend.getApi().ncclCommAbort(comm);
  }
}

Result<uint32_t> NcclCommunicator::prepare(CollectiveCall call) {
  auto prepared = std::make_unique<Prepared>();
  prepared->position = std::find(call.members.begin(), call.members.end(), rank) - call.members.begin();
  std::optional<ncclDataType_t> type = getType(call.type);
  std::optional<ncclRedOp_t> reduction = getReduction(call.reduction, call.type);
  if (isReducing(call.kind) && call.members.size() > 1 && (!type || !reduction))
    return inputError("{} reduces {} in a way that NCCL does not know", describe(rank, call), getName(call.type));
  // What is only moved may be moved as bytes.
  prepared->type = type.value_or(ncclUint8);
  prepared->scale = type ? 1 : getSize(call.type);
  prepared->reduction = reduction.value_or(ncclSum);
  MW_TRY_ASSIGN(prepared->done, createEvent(device.getApi()));
  prepared->call = std::move(call);
  collectives.push_back(std::move(prepared));
  return static_cast<uint32_t>(collectives.size() - 1);
}

Status NcclCommunicator::connect() {
  std::set<Members> groups;
  for (const auto &prepared : collectives)
    if (prepared->call.members.size() > 1)
      groups.insert(prepared->call.members);
  MW_TRY(backend.exchange(groups));
  // In one order on all ranks: nobody waits in a later group for somebody who waits in an earlier one.
  for (const Members &members : groups) {
    ncclComm_t comm = nullptr;
    MW_TRY(makeCommunicator(members, comm)
               .within(fmt::format("rank {}: the communicator of {} ranks from {} on", rank, members.size(),
                                   members.front())));
  }
  for (const auto &prepared : collectives)
    if (auto comm = comms.find(prepared->call.members); comm != comms.end())
      prepared->comm = comm->second;
  return {};
}

Status NcclCommunicator::makeCommunicator(const Members &members, ncclComm_t &comm) {
  MW_TRY(device.use());
  const NcclApi &api = backend.getApi();
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  auto position = std::find(members.begin(), members.end(), rank) - members.begin();
  std::lock_guard held(mutex);
  if (isAborted)
    return backend.getFailure();
  ncclResult_t result = api.ncclCommInitRankConfig(&comm, static_cast<int>(members.size()), backend.getId(members),
                                                   static_cast<int>(position), &config);
  if (comm)
    comms[members] = comm;
  MW_TRY(api.check(result, "ncclCommInitRankConfig"));
  return settle(comm);
}

/// Returns when the last call is over as far as the host is concerned.
Status NcclCommunicator::settle(ncclComm_t comm) {
  auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(backend.getTimeout());
  for (ncclResult_t state = ncclInProgress;;) {
    MW_CALL(backend.getApi(), ncclCommGetAsyncError, comm, &state);
    if (state != ncclInProgress)
      return backend.getApi().check(state, "ncclCommGetAsyncError");
    if (backend.hasFailed())
      return backend.getFailure();
    if (std::chrono::steady_clock::now() > deadline)
      return faultError("nothing has moved for {} s", backend.getTimeout());
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
}

//===----------------------------------------------------------------------===//
// In a step
//===----------------------------------------------------------------------===//

Status NcclCommunicator::execute(uint32_t number) {
  MW_TRY(start(number));
  return wait(number);
}

Status NcclCommunicator::start(uint32_t number) {
  const Prepared &prepared = *collectives[number];
  return issue(prepared).within(describe(rank, prepared.call));
}

Status NcclCommunicator::wait(uint32_t number) {
  const Prepared &prepared = *collectives[number];
  return device.join(prepared.done.get()).within(describe(rank, prepared.call));
}

void NcclCommunicator::finishStep(const Status &status) {
  if (!status.ok())
    backend.fail(status);
}

void NcclCommunicator::abort() {
  std::lock_guard held(mutex);
  isAborted = true;
  for (auto [members, comm] : comms)
    (void)backend.getApi().ncclCommAbort(comm);
  comms.clear();
}

Status NcclCommunicator::issue(const Prepared &prepared) {
  CUstream stream = device.getCommunicationStream();
  MW_TRY(device.fork(stream));
  if (prepared.call.members.size() == 1)
    for (const CallPart &part : prepared.call.parts)
      MW_TRY(copyPart(prepared, part));
  else
    MW_TRY(issueGroup(prepared));
  MW_CALL(device.getApi(), cuEventRecord, prepared.done.get(), stream);
  return {};
}

/// All parts are one launch.
Status NcclCommunicator::issueGroup(const Prepared &prepared) {
  const NcclApi &api = backend.getApi();
  std::lock_guard held(mutex);
  if (isAborted)
    return backend.getFailure();
  MW_CALL(api, ncclGroupStart);
  Status status;
  for (const CallPart &part : prepared.call.parts)
    if (status.ok())
      status = issuePart(prepared, part);
  // Whatever happened, the group is closed.
  Status ended = api.check(api.ncclGroupEnd(), "ncclGroupEnd");
  MW_TRY(status);
  MW_TRY(ended);
  return settle(prepared.comm);
}

Status NcclCommunicator::issuePart(const Prepared &prepared, const CallPart &part) {
  const NcclApi &api = backend.getApi();
  CUstream stream = device.getCommunicationStream();
  uint64_t count = part.count * prepared.scale;
  auto root = static_cast<int>(part.root);
  switch (prepared.call.kind) {
  case Collective::ALL_REDUCE:
    MW_CALL(api, ncclAllReduce, part.in, part.out, count, prepared.type, prepared.reduction, prepared.comm, stream);
    return {};
  case Collective::ALL_GATHER:
    MW_CALL(api, ncclAllGather, part.in, part.out, count, prepared.type, prepared.comm, stream);
    return {};
  case Collective::REDUCE_SCATTER:
    MW_CALL(api, ncclReduceScatter, part.in, part.out, count, prepared.type, prepared.reduction, prepared.comm, stream);
    return {};
  case Collective::BROADCAST: {
    // The root may have no place for a result of its own; nobody else has an operand.
    const std::byte *result = part.out ? part.out : part.in;
    MW_CALL(api, ncclBroadcast, part.in ? part.in : part.out, const_cast<std::byte *>(result), count, prepared.type,
            root, prepared.comm, stream);
    return {};
  }
  case Collective::REDUCE:
    MW_CALL(api, ncclReduce, part.in, part.out, count, prepared.type, prepared.reduction, root, prepared.comm, stream);
    return {};
  default:
    return exchangeParts(prepared, part);
  }
}

/// All-to-alls and sends.
Status NcclCommunicator::exchangeParts(const Prepared &prepared, const CallPart &part) {
  const NcclApi &api = backend.getApi();
  CUstream stream = device.getCommunicationStream();
  uint64_t count = part.count * prepared.scale, bytes = part.count * getSize(prepared.call.type);
  bool isSend = prepared.call.kind == Collective::SEND;
  for (size_t member = 0; member != prepared.call.members.size(); ++member) {
    auto peer = static_cast<int>(member);
    if (isSend && member == prepared.position)
      continue;
    uint64_t offset = isSend ? 0 : member * bytes;
    if (part.in && (!isSend || prepared.position == 0))
      MW_CALL(api, ncclSend, part.in + offset, count, prepared.type, peer, prepared.comm, stream);
    if (part.out && (!isSend || prepared.position == 1))
      MW_CALL(api, ncclRecv, part.out + offset, count, prepared.type, peer, prepared.comm, stream);
  }
  return {};
}

Status NcclCommunicator::copyPart(const Prepared &prepared, const CallPart &part) {
  uint64_t bytes = part.count * getSize(prepared.call.type);
  if (part.in && part.out && part.in != part.out && bytes != 0)
    MW_CALL(device.getApi(), cuMemcpyAsync, reinterpret_cast<CUdeviceptr>(part.out),
            reinterpret_cast<CUdeviceptr>(part.in), bytes, device.getCommunicationStream());
  return {};
}
