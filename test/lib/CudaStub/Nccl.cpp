//===- Nccl.cpp - collectives among the streams of a process --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A collective is work on its stream: the members meet, each computes its own result out of the others' operands, and
// they meet again. Sends and receives of one group are one such meeting. Reductions run over the members in their
// order.
//
//===----------------------------------------------------------------------===//

#include "Stub.h"
#include <atomic>
#include <cstring>
#include <nccl.h>
#include <type_traits>

using namespace meshwright::stub;

#define MW_STUB(name) MW_STUB_EXPORT ncclResult_t name

namespace {

enum class Kind { AllReduce, AllGather, ReduceScatter, Broadcast, Reduce, Exchange };

/// A transfer to or from one member.
struct Transfer {
  const char *from = nullptr;
  char *to = nullptr;
  uint64_t bytes = 0;
  int peer = 0;
};

/// What a member brings to a meeting.
struct Operation {
  Kind kind;
  const char *in = nullptr;
  char *out = nullptr;
  size_t count = 0;
  ncclDataType_t type = ncclFloat32;
  ncclRedOp_t reduction = ncclSum;
  int root = 0;
  std::vector<Transfer> sends = {}, receives = {};

  bool agrees(const Operation &other) const {
    return kind == other.kind && count == other.count && type == other.type && reduction == other.reduction &&
           root == other.root;
  }
};

/// The members of a group and their meeting place.
struct Group {
  std::mutex mutex;
  std::condition_variable changed;
  size_t size = 0, joined = 0, arrived = 0;
  uint64_t generation = 0;
  std::vector<const Operation *> operations;
  bool isAborted = false;
  std::atomic<bool> hasDisagreed = false;

  /// Returns when all have come; false if nobody comes any more.
  bool meet(int rank, const Operation *operation) {
    std::unique_lock held(mutex);
    if (isAborted)
      return false;
    operations[rank] = operation;
    uint64_t before = generation;
    arrive();
    changed.wait(held, [&] { return isAborted || generation != before; });
    return generation != before;
  }

  /// Returns when all who have met are done with each other's operands. They all come, whatever happens.
  void leave() {
    std::unique_lock held(mutex);
    uint64_t before = generation;
    arrive();
    changed.wait(held, [&] { return generation != before; });
  }

private:
  void arrive() {
    if (++arrived != size)
      return;
    arrived = 0;
    ++generation;
    changed.notify_all();
  }
};

uint64_t getBytes(ncclDataType_t type) {
  switch (type) {
  case ncclInt8:
  case ncclUint8:
    return 1;
  case ncclFloat16:
  case ncclBfloat16:
    return 2;
  case ncclInt64:
  case ncclUint64:
  case ncclFloat64:
    return 8;
  default:
    return 4;
  }
}

struct BFloat16 {
  uint16_t bits;
  BFloat16(float value) {
    uint32_t wide;
    std::memcpy(&wide, &value, sizeof(wide));
    if (value != value)
      bits = static_cast<uint16_t>((wide >> 16) | 0x40);
    else
      bits = static_cast<uint16_t>((wide + 0x7fff + ((wide >> 16) & 1)) >> 16);
  }
  operator float() const {
    uint32_t wide = uint32_t(bits) << 16;
    float value;
    std::memcpy(&value, &wide, sizeof(value));
    return value;
  }
};

/// Integers wrap; of floats what is no number wins.
template <typename T> T combine(T a, T b, ncclRedOp_t reduction) {
  using Wrapping = std::conditional_t<std::is_integral_v<T>, uint64_t, T>;
  switch (reduction) {
  case ncclProd:
    return static_cast<T>(static_cast<Wrapping>(a) * static_cast<Wrapping>(b));
  case ncclMax:
    return a > b || a != a ? a : b;
  case ncclMin:
    return a < b || a != a ? a : b;
  default:
    return static_cast<T>(static_cast<Wrapping>(a) + static_cast<Wrapping>(b));
  }
}

/// Elements [begin, begin + count) of all operands, added up as A.
template <typename T, typename A>
void reduce(const std::vector<const Operation *> &operations, uint64_t begin, uint64_t count, char *out) {
  ncclRedOp_t reduction = operations[0]->reduction;
  std::vector<T> results;
  for (uint64_t i = begin; i != begin + count; ++i) {
    A sum = static_cast<A>(reinterpret_cast<const T *>(operations[0]->in)[i]);
    for (size_t member = 1; member != operations.size(); ++member)
      sum = combine<A>(sum, static_cast<A>(reinterpret_cast<const T *>(operations[member]->in)[i]), reduction);
    results.push_back(static_cast<T>(sum));
  }
  std::memcpy(out, results.data(), count * sizeof(T));
}

void reduceAny(const std::vector<const Operation *> &operations, uint64_t begin, uint64_t count, char *out) {
  switch (operations[0]->type) {
  case ncclFloat16:
    return reduce<_Float16, float>(operations, begin, count, out);
  case ncclBfloat16:
    return reduce<BFloat16, float>(operations, begin, count, out);
  case ncclFloat64:
    return reduce<double, double>(operations, begin, count, out);
  case ncclInt8:
    return reduce<int8_t, int32_t>(operations, begin, count, out);
  case ncclUint8:
    return reduce<uint8_t, uint32_t>(operations, begin, count, out);
  case ncclInt32:
    return reduce<int32_t, int64_t>(operations, begin, count, out);
  case ncclUint32:
    return reduce<uint32_t, uint64_t>(operations, begin, count, out);
  case ncclInt64:
    return reduce<int64_t, int64_t>(operations, begin, count, out);
  case ncclUint64:
    return reduce<uint64_t, uint64_t>(operations, begin, count, out);
  default:
    return reduce<float, float>(operations, begin, count, out);
  }
}

/// The transfers of a member to another one are received in their order.
void receive(const std::vector<const Operation *> &operations, int rank, std::vector<char> &result) {
  std::map<int, size_t> taken;
  for (const Transfer &wanted : operations[rank]->receives) {
    size_t skip = taken[wanted.peer]++;
    for (const Transfer &sent : operations[wanted.peer]->sends)
      if (sent.peer == rank && skip-- == 0)
        result.insert(result.end(), sent.from, sent.from + sent.bytes);
  }
}

/// What a member gets, computed before anybody writes anything.
std::vector<char> compute(const std::vector<const Operation *> &operations, int rank) {
  const Operation &mine = *operations[rank];
  uint64_t bytes = mine.count * getBytes(mine.type);
  std::vector<char> result;
  switch (mine.kind) {
  case Kind::Reduce:
    if (rank != mine.root)
      return result;
    [[fallthrough]];
  case Kind::AllReduce:
    result.resize(bytes);
    reduceAny(operations, 0, mine.count, result.data());
    return result;
  case Kind::ReduceScatter:
    result.resize(bytes);
    reduceAny(operations, rank * mine.count, mine.count, result.data());
    return result;
  case Kind::AllGather:
    for (const Operation *operation : operations)
      result.insert(result.end(), operation->in, operation->in + bytes);
    return result;
  case Kind::Broadcast:
    result.assign(operations[mine.root]->in, operations[mine.root]->in + bytes);
    return result;
  default:
    receive(operations, rank, result);
    return result;
  }
}

void run(Group &group, int rank, const Operation &operation) {
  if (!group.meet(rank, &operation))
    return;
  bool agrees = true;
  for (const Operation *other : group.operations)
    agrees &= operation.agrees(*other);
  std::vector<char> result;
  if (agrees)
    result = compute(group.operations, rank);
  else
    group.hasDisagreed = true;
  group.leave();
  if (result.empty())
    return;
  if (operation.kind != Kind::Exchange) {
    std::memcpy(operation.out, result.data(), result.size());
    return;
  }
  const char *next = result.data();
  for (const Transfer &wanted : operation.receives) {
    std::memcpy(wanted.to, next, wanted.bytes);
    next += wanted.bytes;
  }
}

/// Groups by the number in their identifier.
std::map<uint64_t, std::weak_ptr<Group>> groups;
std::mutex groupsMutex;

/// What the thread has asked for between the beginning and the end of a group.
struct Pending {
  ncclComm_t comm;
  Stream *stream;
  Operation operation;
};
thread_local std::vector<Pending> pending;
thread_local int depth = 0;

} // namespace

struct ncclComm {
  std::shared_ptr<Group> group;
  int rank;
  Live live = {};
};

namespace {

void issue(const Pending &item) {
  item.stream->push(
      [group = item.comm->group, rank = item.comm->rank, operation = item.operation] { run(*group, rank, operation); });
}

void add(ncclComm_t comm, void *stream, Operation operation) {
  bool isExchange = operation.kind == Kind::Exchange;
  // Transfers between the same members are one operation.
  for (Pending &item : pending)
    if (isExchange && item.operation.kind == Kind::Exchange && item.comm == comm) {
      auto append = [](std::vector<Transfer> &to, const std::vector<Transfer> &from) {
        to.insert(to.end(), from.begin(), from.end());
      };
      append(item.operation.sends, operation.sends);
      append(item.operation.receives, operation.receives);
      return;
    }
  pending.push_back({comm, &getStream(stream), std::move(operation)});
  if (depth != 0)
    return;
  issue(pending.back());
  pending.clear();
}

ncclResult_t collect(Call &call, ncclComm_t comm, void *stream, Operation operation) {
  call.note("stream", getStream(stream).id);
  if (operation.kind != Kind::Exchange)
    call.note("in", operation.in).note("out", operation.out).note("count", operation.count);
  if (call.fails())
    return ncclUnhandledCudaError;
  add(comm, stream, std::move(operation));
  return ncclSuccess;
}

} // namespace

MW_STUB(ncclGetVersion)(int *version) {
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}
MW_STUB_EXPORT const char *ncclGetErrorString(ncclResult_t result) {
  return result == ncclInvalidUsage ? "invalid usage" : "unhandled cuda error";
}
MW_STUB_EXPORT const char *ncclGetLastError(ncclComm_t) { return "of the stub"; }

MW_STUB(ncclGetUniqueId)(ncclUniqueId *id) {
  Call call("ncclGetUniqueId");
  uint64_t number = makeId();
  std::memset(id, 0, sizeof(*id));
  std::memcpy(id, &number, sizeof(number));
  return call.fails() ? ncclSystemError : ncclSuccess;
}

MW_STUB(ncclCommInitRankConfig)(ncclComm_t *comm, int size, ncclUniqueId id, int rank, ncclConfig_t *config) {
  Call call("ncclCommInitRankConfig");
  call.note("size", static_cast<uint64_t>(size)).note("rank", static_cast<uint64_t>(rank));
  *comm = nullptr;
  if (call.fails() || config->blocking != 0)
    return ncclSystemError;
  uint64_t number;
  std::memcpy(&number, &id, sizeof(number));
  std::lock_guard held(groupsMutex);
  std::shared_ptr<Group> group = groups[number].lock();
  if (!group) {
    group = std::make_shared<Group>();
    group->size = static_cast<size_t>(size);
    group->operations.resize(group->size);
    groups[number] = group;
  }
  std::lock_guard joining(group->mutex);
  ++group->joined;
  *comm = new ncclComm{group, rank, {}};
  return ncclInProgress;
}

/// A communicator is being made until all members have come.
MW_STUB(ncclCommGetAsyncError)(ncclComm_t comm, ncclResult_t *result) {
  std::lock_guard held(comm->group->mutex);
  *result = comm->group->hasDisagreed                  ? ncclInvalidUsage
            : comm->group->joined != comm->group->size ? ncclInProgress
                                                       : ncclSuccess;
  return ncclSuccess;
}

MW_STUB(ncclCommFinalize)(ncclComm_t) {
  Call call("ncclCommFinalize");
  return ncclInProgress;
}
MW_STUB(ncclCommDestroy)(ncclComm_t comm) {
  Call call("ncclCommDestroy");
  delete comm;
  return ncclSuccess;
}
MW_STUB(ncclCommAbort)(ncclComm_t comm) {
  Call call("ncclCommAbort");
  {
    std::lock_guard held(comm->group->mutex);
    comm->group->isAborted = true;
    comm->group->changed.notify_all();
  }
  delete comm;
  return ncclSuccess;
}

MW_STUB(ncclGroupStart)() {
  Call call("ncclGroupStart");
  if (call.fails())
    return ncclInternalError;
  ++depth;
  return ncclSuccess;
}

MW_STUB(ncclGroupEnd)() {
  Call call("ncclGroupEnd");
  if (--depth != 0)
    return ncclSuccess;
  std::vector<Pending> items;
  items.swap(pending);
  if (call.fails())
    return ncclInternalError;
  for (const Pending &item : items)
    issue(item);
  return ncclSuccess;
}

MW_STUB(ncclAllReduce)(const void *in, void *out, size_t count, ncclDataType_t type, ncclRedOp_t reduction,
                       ncclComm_t comm, cudaStream_t stream) {
  Call call("ncclAllReduce");
  return collect(call, comm, stream,
                 {Kind::AllReduce, static_cast<const char *>(in), static_cast<char *>(out), count, type, reduction});
}
MW_STUB(ncclAllGather)(const void *in, void *out, size_t count, ncclDataType_t type, ncclComm_t comm,
                       cudaStream_t stream) {
  Call call("ncclAllGather");
  return collect(call, comm, stream,
                 {Kind::AllGather, static_cast<const char *>(in), static_cast<char *>(out), count, type});
}
MW_STUB(ncclReduceScatter)(const void *in, void *out, size_t count, ncclDataType_t type, ncclRedOp_t reduction,
                           ncclComm_t comm, cudaStream_t stream) {
  Call call("ncclReduceScatter");
  return collect(
      call, comm, stream,
      {Kind::ReduceScatter, static_cast<const char *>(in), static_cast<char *>(out), count, type, reduction});
}
MW_STUB(ncclBroadcast)(const void *in, void *out, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                       cudaStream_t stream) {
  Call call("ncclBroadcast");
  return collect(
      call, comm, stream,
      {Kind::Broadcast, static_cast<const char *>(in), static_cast<char *>(out), count, type, ncclSum, root});
}
MW_STUB(ncclReduce)(const void *in, void *out, size_t count, ncclDataType_t type, ncclRedOp_t reduction, int root,
                    ncclComm_t comm, cudaStream_t stream) {
  Call call("ncclReduce");
  return collect(call, comm, stream,
                 {Kind::Reduce, static_cast<const char *>(in), static_cast<char *>(out), count, type, reduction, root});
}
MW_STUB(ncclSend)(const void *in, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream) {
  Call call("ncclSend");
  Operation operation{Kind::Exchange};
  operation.sends.push_back({static_cast<const char *>(in), nullptr, count * getBytes(type), peer});
  call.note("in", in);
  return collect(call, comm, stream, std::move(operation));
}
MW_STUB(ncclRecv)(void *out, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream) {
  Call call("ncclRecv");
  Operation operation{Kind::Exchange};
  operation.receives.push_back({nullptr, static_cast<char *>(out), count * getBytes(type), peer});
  call.note("out", out);
  return collect(call, comm, stream, std::move(operation));
}
