//===- Nccl.cpp - collectives among streams -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A collective is work on its stream: the members meet, each with its operand, each computes its own result out of the
// others' operands, and they meet again. Sends and receives of one group are one such meeting. Reductions run over the
// members in their order. Members are streams of one process or of several.
//
//===----------------------------------------------------------------------===//

#include "devices/cuda/abi/Nccl.h"
#include "NcclGroup.h"
#include "Stub.h"
#include <cstdlib>
#include <cstring>
#include <type_traits>

using namespace meshwright::runtime::cuda;
using namespace meshwright::stub;

#define MW_STUB(name) MW_STUB_EXPORT ncclResult_t name

// A definition with another signature does not compile.
#define MW_DECLARE(name, ...) MW_STUB_EXPORT std::type_identity_t<__VA_ARGS__> name;
MW_NCCL_FUNCTIONS(MW_DECLARE)
#undef MW_DECLARE

namespace {

enum class Kind { AllReduce, AllGather, ReduceScatter, Broadcast, Reduce, Exchange };

/// A transfer to or from one member.
struct Transfer {
  const char *from = nullptr;
  char *to = nullptr;
  uint64_t bytes = 0;
  int peer = 0;
};

/// The contribution of a member to a meeting.
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

/// Integers wrap. NCCL takes `fmax` and `fmin` of floats, which return the other operand where one is NaN.
template <typename T> T combine(T a, T b, ncclRedOp_t reduction) {
  using Wrapping = std::conditional_t<std::is_integral_v<T>, uint64_t, T>;
  switch (reduction) {
  case ncclProd:
    return static_cast<T>(static_cast<Wrapping>(a) * static_cast<Wrapping>(b));
  case ncclMax:
    return a > b || b != b ? a : b;
  case ncclMin:
    return a < b || b != b ? a : b;
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
  if (count != 0)
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

/// The result of a member, computed before any member writes to its buffers.
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

/// The contribution of a member as laid out in the memory of the group, followed by its transfers, their bytes and the
/// bytes of the operand.
struct Brought {
  Kind kind;
  ncclDataType_t type;
  ncclRedOp_t reduction;
  int root;
  uint64_t count, numSends, numReceives, operandBytes;
};

/// The bytes of its operand that others look at.
uint64_t getOperandBytes(const Operation &operation, uint32_t size, int rank) {
  uint64_t bytes = operation.count * getBytes(operation.type);
  if (operation.kind == Kind::Exchange || (operation.kind == Kind::Broadcast && rank != operation.root))
    return 0;
  return operation.kind == Kind::ReduceScatter ? size * bytes : bytes;
}

/// True if the contribution fits into its place.
bool bring(std::byte *place, const Operation &operation, uint32_t size, int rank) {
  uint64_t operandBytes = getOperandBytes(operation, size, rank);
  Brought brought{operation.kind,  operation.type,         operation.reduction,       operation.root,
                  operation.count, operation.sends.size(), operation.receives.size(), operandBytes};
  uint64_t bytes = sizeof(brought) + operandBytes;
  for (const Transfer &transfer : operation.sends)
    bytes += sizeof(transfer) + transfer.bytes;
  if (bytes > NcclGroup::maxBytes)
    return false;
  auto add = [&](const void *from, uint64_t length) {
    if (length != 0)
      std::memcpy(place, from, length);
    place += length;
  };
  add(&brought, sizeof(brought));
  add(operation.sends.data(), operation.sends.size() * sizeof(Transfer));
  add(operation.in, operandBytes);
  for (const Transfer &transfer : operation.sends)
    add(transfer.from, transfer.bytes);
  return true;
}

/// Reads the contribution of another member, without its receives, which concern that member alone.
Operation look(const std::byte *place) {
  Brought brought;
  std::memcpy(&brought, place, sizeof(brought));
  place += sizeof(brought);
  Operation operation{brought.kind, nullptr, nullptr, brought.count, brought.type, brought.reduction,
                      brought.root, {},      {}};
  operation.sends.resize(brought.numSends);
  if (brought.numSends != 0)
    std::memcpy(operation.sends.data(), place, brought.numSends * sizeof(Transfer));
  place += brought.numSends * sizeof(Transfer);
  operation.in = reinterpret_cast<const char *>(place);
  place += brought.operandBytes;
  for (Transfer &transfer : operation.sends) {
    transfer.from = reinterpret_cast<const char *>(place);
    place += transfer.bytes;
  }
  return operation;
}

/// The result of a meeting for a member.
std::vector<char> collectResult(NcclGroup &group, int rank, const Operation &mine) {
  std::vector<Operation> operations;
  std::vector<const Operation *> pointers;
  bool agrees = true;
  for (uint32_t member = 0; member != group.getSize(); ++member) {
    operations.push_back(look(group.getPlaceOf(member)));
    agrees &= mine.agrees(operations.back());
  }
  if (!agrees) {
    group.noteDisagreement();
    return {};
  }
  operations[rank].receives = mine.receives;
  for (const Operation &operation : operations)
    pointers.push_back(&operation);
  return compute(pointers, rank);
}

void run(NcclGroup &group, int rank, const Operation &operation) {
  if (!bring(group.getOwnPlace(), operation, group.getSize(), rank))
    std::abort();
  if (!group.meet())
    return;
  std::vector<char> result = collectResult(group, rank, operation);
  group.leave();
  if (result.empty())
    return;
  if (operation.kind != Kind::Exchange) {
    std::memcpy(operation.out, result.data(), result.size());
    return;
  }
  const char *next = result.data();
  for (const Transfer &wanted : operation.receives) {
    if (wanted.bytes != 0)
      std::memcpy(wanted.to, next, wanted.bytes);
    next += wanted.bytes;
  }
}

/// The calls of the thread between the begin and the end of a group.
struct Pending {
  ncclComm_t comm;
  Stream *stream;
  Operation operation;
};
thread_local std::vector<Pending> pending;
thread_local int depth = 0;

} // namespace

struct meshwright::runtime::cuda::ncclComm {
  std::shared_ptr<NcclGroup> group;
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
  *version = 22809;
  return ncclSuccess;
}
MW_STUB_EXPORT const char *ncclGetErrorString(ncclResult_t result) {
  return result == ncclInvalidUsage ? "invalid usage" : "unhandled cuda error";
}
MW_STUB_EXPORT const char *ncclGetLastError(ncclComm_t) { return "of the stub"; }

MW_STUB(ncclGetUniqueId)(ncclUniqueId *id) {
  Call call("ncclGetUniqueId");
  std::memset(id, 0, sizeof(*id));
  NcclGroup::makeName().copy(id->internal, sizeof(id->internal) - 1);
  return call.fails() ? ncclSystemError : ncclSuccess;
}

MW_STUB(ncclCommInitRankConfig)(ncclComm_t *comm, int size, ncclUniqueId id, int rank, ncclConfig_t *config) {
  Call call("ncclCommInitRankConfig");
  call.note("size", static_cast<uint64_t>(size)).note("rank", static_cast<uint64_t>(rank));
  *comm = nullptr;
  if (call.fails())
    return ncclSystemError;
  // As libraries check it; the stub knows communicators that do not block.
  if (config->magic != 0xcafebeef || config->size < offsetof(ncclConfig_t, cgaClusterSize) || config->blocking != 0)
    return ncclInvalidUsage;
  std::shared_ptr<NcclGroup> group =
      NcclGroup::join(id.internal, static_cast<uint32_t>(size), static_cast<uint32_t>(rank));
  if (!group)
    return ncclSystemError;
  *comm = new ncclComm{group, rank, {}};
  return ncclInProgress;
}

/// A communicator is being made until all members have come.
MW_STUB(ncclCommGetAsyncError)(ncclComm_t comm, ncclResult_t *result) {
  *result = comm->group->hasDisagreed() ? ncclInvalidUsage : !comm->group->areAllThere() ? ncclInProgress : ncclSuccess;
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
  comm->group->abort();
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
                       ncclComm_t comm, CUstream stream) {
  Call call("ncclAllReduce");
  return collect(call, comm, stream,
                 {Kind::AllReduce, static_cast<const char *>(in), static_cast<char *>(out), count, type, reduction});
}
MW_STUB(ncclAllGather)(const void *in, void *out, size_t count, ncclDataType_t type, ncclComm_t comm, CUstream stream) {
  Call call("ncclAllGather");
  return collect(call, comm, stream,
                 {Kind::AllGather, static_cast<const char *>(in), static_cast<char *>(out), count, type});
}
MW_STUB(ncclReduceScatter)(const void *in, void *out, size_t count, ncclDataType_t type, ncclRedOp_t reduction,
                           ncclComm_t comm, CUstream stream) {
  Call call("ncclReduceScatter");
  return collect(
      call, comm, stream,
      {Kind::ReduceScatter, static_cast<const char *>(in), static_cast<char *>(out), count, type, reduction});
}
MW_STUB(ncclBroadcast)(const void *in, void *out, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                       CUstream stream) {
  Call call("ncclBroadcast");
  return collect(
      call, comm, stream,
      {Kind::Broadcast, static_cast<const char *>(in), static_cast<char *>(out), count, type, ncclSum, root});
}
MW_STUB(ncclReduce)(const void *in, void *out, size_t count, ncclDataType_t type, ncclRedOp_t reduction, int root,
                    ncclComm_t comm, CUstream stream) {
  Call call("ncclReduce");
  return collect(call, comm, stream,
                 {Kind::Reduce, static_cast<const char *>(in), static_cast<char *>(out), count, type, reduction, root});
}
MW_STUB(ncclSend)(const void *in, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, CUstream stream) {
  Call call("ncclSend");
  Operation operation{Kind::Exchange};
  operation.sends.push_back({static_cast<const char *>(in), nullptr, count * getBytes(type), peer});
  call.note("in", in);
  return collect(call, comm, stream, std::move(operation));
}
MW_STUB(ncclRecv)(void *out, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, CUstream stream) {
  Call call("ncclRecv");
  Operation operation{Kind::Exchange};
  operation.receives.push_back({nullptr, static_cast<char *>(out), count * getBytes(type), peer});
  call.note("out", out);
  return collect(call, comm, stream, std::move(operation));
}
