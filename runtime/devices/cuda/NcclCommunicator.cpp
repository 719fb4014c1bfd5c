//===- NcclCommunicator.cpp - one rank's collectives by NCCL --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A collective becomes one group call of NCCL over all of its parts. Types and reductions that NCCL lacks are gathered
// or exchanged as bytes and reduced by kernels of the runtime, in the order of the members, as on the CPU.
//
//===----------------------------------------------------------------------===//

#include "NcclCommunicator.h"
#include "meshwright/runtime/Agreement.h"
#include <algorithm>
#include <chrono>
#include <thread>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::runtime::cuda;

//===----------------------------------------------------------------------===//
// NCCL's names
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

/// NCCL's name of a reduction, where it has it. `and` of 0 and 1 is the minimum and `or` the maximum. Its maximum and
/// minimum of floats drop NaN, so they are not those of a program.
static std::optional<ncclRedOp_t> getReduction(Collective::Reduction reduction, DType type) {
  bool isExtremum = reduction == Collective::MAX || reduction == Collective::MIN;
  if (isExtremum && isFloat(type))
    return std::nullopt;
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
    // Every issued collective is waited for.
    if (settle(comm).ok())
      (void)backend.getApi().ncclCommDestroy(comm);
    else
      (void)backend.getApi().ncclCommAbort(comm);
  }
  // Sums that are under way use the scratch memory.
  if (scratch.get())
    (void)device.getApi().cuStreamSynchronize(getStream());
}

Result<std::unique_ptr<CudaCommunicator::Prepared>> NcclCommunicator::prepareGroup(const CollectiveCall &call) {
  auto prepared = std::make_unique<NcclCollective>();
  std::optional<ncclDataType_t> type = getType(call.type);
  std::optional<ncclRedOp_t> reduction = getReduction(call.reduction, call.type);
  if (isReducing(call.kind) && (!type || !reduction)) {
    MW_TRY_ASSIGN(prepared->kernel, findKernel(call));
  }
  // Elements that are only moved may be moved as bytes.
  prepared->type = type.value_or(ncclUint8);
  prepared->scale = type ? 1 : getSize(call.type);
  prepared->reduction = reduction.value_or(ncclSum);
  return std::unique_ptr<Prepared>(std::move(prepared));
}

Result<CUfunction> NcclCommunicator::findKernel(const CollectiveCall &call) {
  MW_TRY(device.use());
  if (!kernels) {
    MW_TRY_ASSIGN(kernels, ReductionKernels::load(device.getApi()));
  }
  return kernels->find(call.reduction, call.type, call.members.size() + 1);
}

/// Collectives take place one after the other, so that all gather in the same place.
Status NcclCommunicator::allocateScratch() {
  uint64_t bytes = 0;
  std::vector<NcclCollective *> own;
  for (const auto &prepared : collectives) {
    if (prepared->call.members.size() == 1 || !static_cast<NcclCollective &>(*prepared).kernel)
      continue;
    own.push_back(static_cast<NcclCollective *>(prepared.get()));
    uint64_t elements = 0;
    for (const CallPart &part : prepared->call.parts)
      elements += part.count * prepared->call.members.size();
    bytes = std::max(bytes, elements * getSize(prepared->call.type));
  }
  if (bytes == 0)
    return {};
  MW_TRY(scratch.allocate(device.getApi(), bytes));
  device.noteScratch(bytes);
  for (NcclCollective *prepared : own) {
    const std::byte *next = scratch.get();
    for (const CallPart &part : prepared->call.parts)
      for (size_t member = 0; member != prepared->call.members.size(); ++member)
        prepared->gathered.push_back(std::exchange(next, next + part.count * getSize(prepared->call.type)));
  }
  return {};
}

/// The ranks of the communicator of a collective, in the order of their positions there: its members. Sends in both
/// directions between two ranks have one.
static Members getGroup(const CollectiveCall &call) {
  Members group = call.members;
  if (call.kind == Collective::SEND)
    std::sort(group.begin(), group.end());
  return group;
}

std::set<Members> NcclCommunicator::listGroups() const {
  std::set<Members> groups;
  for (const auto &prepared : collectives)
    if (prepared->call.members.size() > 1)
      groups.insert(getGroup(prepared->call));
  return groups;
}

Status NcclCommunicator::connect() {
  MW_TRY(backend.exchange(listGroups()));
  // A library may make a rank's communicators only one after the other: no rank begins with one before all others are
  // done with those of the round before.
  for (const std::vector<Members> &round : backend.getRounds()) {
    if (Status status = makeCommunicators(round); !status.ok()) {
      backend.fail(status);
      return status;
    }
    MW_TRY(backend.meet());
  }
  MW_TRY(giveCommunicators());
  return allocateScratch();
}

/// Those of a round that this rank is in, which is one at most.
Status NcclCommunicator::makeCommunicators(const std::vector<Members> &round) {
  for (const Members &members : round) {
    if (std::find(members.begin(), members.end(), rank) == members.end())
      continue;
    ncclComm_t comm = nullptr;
    MW_TRY(makeCommunicator(members, comm)
               .within(fmt::format("rank {}: the communicator of {} ranks from {} on", rank, members.size(),
                                   members.front())));
  }
  return {};
}

Status NcclCommunicator::makeCommunicator(const Members &members, ncclComm_t &comm) {
  MW_TRY(device.use());
  const NcclApi &api = backend.getApi();
  ncclConfig_t config;
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

/// Gives each collective its communicator, unless another rank's failure has ended them.
Status NcclCommunicator::giveCommunicators() {
  std::lock_guard held(mutex);
  if (isAborted)
    return backend.getFailure();
  for (const auto &prepared : collectives)
    if (auto comm = comms.find(getGroup(prepared->call)); comm != comms.end())
      static_cast<NcclCollective &>(*prepared).comm = comm->second;
  return {};
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

Status NcclCommunicator::issue(Prepared &base) {
  const auto &prepared = static_cast<const NcclCollective &>(base);
  MW_TRY(locate(prepared, issueLaunch(prepared)));
  return prepared.kernel ? locate(prepared, reduceGathered(prepared)) : Status();
}

/// All parts are one launch.
Status NcclCommunicator::issueLaunch(const NcclCollective &prepared) {
  const NcclApi &api = backend.getApi();
  std::lock_guard held(mutex);
  if (isAborted)
    return backend.getFailure();
  MW_CALL(api, ncclGroupStart);
  Status status;
  for (size_t part = 0; part != prepared.call.parts.size() && status.ok(); ++part)
    status = prepared.kernel ? gatherPart(prepared, part) : issuePart(prepared, prepared.call.parts[part]);
  // The group is closed after errors too.
  Status ended = api.check(api.ncclGroupEnd(), "ncclGroupEnd");
  MW_TRY(status);
  MW_TRY(ended);
  return settle(prepared.comm);
}

Status NcclCommunicator::issuePart(const NcclCollective &prepared, const CallPart &part) {
  const NcclApi &api = backend.getApi();
  CUstream stream = getStream();
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
    // The root may have no place for a result of its own; no other member has an operand.
    const std::byte *result = part.out ? part.out : part.in;
    MW_CALL(api, ncclBroadcast, part.in ? part.in : part.out, const_cast<std::byte *>(result), count, prepared.type,
            root, prepared.comm, stream);
    return {};
  }
  case Collective::REDUCE:
    MW_CALL(api, ncclReduce, part.in, part.out, count, prepared.type, prepared.reduction, root, prepared.comm, stream);
    return {};
  case Collective::ALL_TO_ALL:
    return exchangeAll(prepared, part.in, part.out, part.count);
  default:
    return sendPart(prepared, part);
  }
}

/// The first of the two members of a send has the operand; in their group the one of the lower rank comes first.
Status NcclCommunicator::sendPart(const NcclCollective &prepared, const CallPart &part) {
  const NcclApi &api = backend.getApi();
  uint64_t count = part.count * prepared.scale;
  int64_t other = prepared.call.members[1 - prepared.position];
  int peer = other > rank ? 1 : 0;
  if (prepared.position == 0)
    MW_CALL(api, ncclSend, part.in, count, prepared.type, peer, prepared.comm, getStream());
  else
    MW_CALL(api, ncclRecv, part.out, count, prepared.type, peer, prepared.comm, getStream());
  return {};
}

/// Exchanges that many elements of the package between each two members.
Status NcclCommunicator::exchangeAll(const NcclCollective &prepared, const std::byte *in, std::byte *out,
                                     uint64_t count) {
  const NcclApi &api = backend.getApi();
  uint64_t bytes = count * getSize(prepared.call.type);
  for (size_t member = 0; member != prepared.call.members.size(); ++member) {
    auto peer = static_cast<int>(member);
    MW_CALL(api, ncclSend, in + member * bytes, count * prepared.scale, prepared.type, peer, prepared.comm,
            getStream());
    MW_CALL(api, ncclRecv, out + member * bytes, count * prepared.scale, prepared.type, peer, prepared.comm,
            getStream());
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Types that NCCL does not reduce
//===----------------------------------------------------------------------===//

/// The operands of all members for what this one reduces, one after the other.
Status NcclCommunicator::gatherPart(const NcclCollective &prepared, size_t index) {
  const CallPart &part = prepared.call.parts[index];
  // An empty part has no memory to gather it in.
  if (part.count == 0)
    return {};
  auto *gathered = const_cast<std::byte *>(prepared.gathered[index * prepared.call.members.size()]);
  if (hasOperandPerMember(prepared.call.kind))
    return exchangeAll(prepared, part.in, gathered, part.count);
  MW_CALL(backend.getApi(), ncclAllGather, part.in, gathered, part.count * prepared.scale, prepared.type, prepared.comm,
          getStream());
  return {};
}

Status NcclCommunicator::reduceGathered(const NcclCollective &prepared) {
  size_t members = prepared.call.members.size();
  for (size_t index = 0; index != prepared.call.parts.size(); ++index) {
    const CallPart &part = prepared.call.parts[index];
    // Only the root has a place for the result of a reduce.
    if (part.out && part.count != 0)
      MW_TRY(kernels->launch(prepared.kernel, std::span(prepared.gathered).subspan(index * members, members),
                             std::span(&part.out, 1), 0, part.count, getStream()));
  }
  return {};
}
