//===- MessageCheck.cpp - whether messages arrive as they were sent -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   all-gather, all-to-all,     part, checksums of its pieces ──► part, checksums: compared piece by piece
//   broadcast, send
//   all-reduce, reduce          operand ── all-to-all of slices ──► all members' slices ── reduced in order ──►
//   all-gather reduce-scatter              operand ── all-to-all ──► all members' pieces ── reduced in order
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/MessageCheck.h"
#include "meshwright/runtime/Agreement.h"
#include "meshwright/runtime/Checksum.h"
#include "meshwright/runtime/Decorator.h"
#include "meshwright/runtime/Reduce.h"
#include <cstring>

using namespace meshwright;
using namespace meshwright::runtime;

namespace {

using Buffer = std::vector<std::byte>;

/// Elements of a type that hold a checksum.
uint64_t getChecksumCount(DType type) { return std::max<uint64_t>(sizeof(uint32_t) / getSize(type), 1); }

/// A collective that moves values and, as one more part for each of its own, their checksums.
class CheckedMove {
public:
  CheckedMove(CollectiveCall moved, int64_t rank) : call(std::move(moved)), rank(rank) { call.isStarted = false; }

  Status prepare(Communicator &inner) {
    CollectiveCall both = call;
    uint64_t n = call.members.size(), count = getChecksumCount(call.type), bytes = count * getSize(call.type);
    for (const CallPart &part : call.parts) {
      Sums &next = sums.emplace_back();
      next.in.resize(part.in ? bytes * (hasOperandPerMember(call.kind) ? n : 1) : 0);
      next.out.resize(part.out ? bytes * (hasResultPerMember(call.kind) ? n : 1) : 0);
      both.parts.push_back(
          {count, part.in ? next.in.data() : nullptr, part.out ? next.out.data() : nullptr, part.root});
    }
    MW_TRY_ASSIGN(number, inner.prepare(std::move(both)));
    return {};
  }

  Status execute(Communicator &inner) {
    for (size_t i = 0; i != call.parts.size(); ++i)
      forEachPiece(call.parts[i].in, call.parts[i].count, sums[i].in, [&](size_t, auto piece, std::byte *sum) {
        uint32_t checksum = computeChecksum(piece);
        std::memcpy(sum, &checksum, sizeof(checksum));
      });
    MW_TRY(inner.execute(number));
    Status status;
    for (size_t i = 0; i != call.parts.size(); ++i)
      forEachPiece(call.parts[i].out, call.parts[i].count, sums[i].out, [&](size_t at, auto piece, std::byte *sum) {
        uint32_t sent, found = computeChecksum(piece);
        std::memcpy(&sent, sum, sizeof(sent));
        if (found != sent && status.ok())
          status =
              faultError("rank {}: {}: what rank {} contributed to part {} has arrived with checksum {} instead of {}",
                         rank, describe(call), getSender(i, at), i, formatChecksum(found), formatChecksum(sent));
      });
    return status;
  }

  double getCpuSeconds(const Communicator &inner) const { return inner.getCpuSeconds(number); }

private:
  /// A part's checksums as they go and as they come.
  struct Sums {
    Buffer in, out;
  };

  /// Calls fn(index, piece, its checksum's place) for the pieces of an operand or result that has such checksums.
  template <typename Fn> void forEachPiece(const std::byte *array, uint64_t count, Buffer &checksums, Fn fn) const {
    uint64_t bytes = count * getSize(call.type), step = getChecksumCount(call.type) * getSize(call.type);
    for (size_t i = 0; i != checksums.size() / step; ++i)
      fn(i, std::span<const std::byte>(array + i * bytes, bytes), checksums.data() + i * step);
  }

  int64_t getSender(size_t part, size_t piece) const {
    return call.members[hasRoot(call.kind) ? call.parts[part].root : piece];
  }

  CollectiveCall call;
  int64_t rank;
  std::vector<Sums> sums;
  uint32_t number = 0;
};

/// A reduction as moves.
class CheckedReduction {
public:
  CheckedReduction(CollectiveCall reduced, int64_t rank) : call(std::move(reduced)), rank(rank) {}

  Status prepare(Communicator &inner) {
    CollectiveCall there = call, back = call;
    there.kind = Collective::ALL_TO_ALL;
    back.kind = Collective::ALL_GATHER;
    uint64_t n = call.members.size(), size = getSize(call.type);
    for (size_t i = 0; i != call.parts.size(); ++i) {
      const CallPart &part = call.parts[i];
      Part &next = parts.emplace_back();
      next.slice = isScattered() ? part.count : (part.count + n - 1) / n;
      allocate(next.received, n * next.slice * size);
      if (!isScattered()) {
        allocate(next.padded, n * next.slice * size);
        allocate(next.reduced, next.slice * size);
        allocate(next.gathered, n * next.slice * size);
      }
      there.parts[i] = {next.slice, isScattered() ? part.in : next.padded.data(), next.received.data()};
      back.parts[i] = {next.slice, next.reduced.data(), next.gathered.data()};
    }
    MW_TRY(exchange.emplace(std::move(there), rank).prepare(inner));
    return isScattered() ? Status() : spread.emplace(std::move(back), rank).prepare(inner);
  }

  Status execute(Communicator &inner) {
    uint64_t size = getSize(call.type);
    for (size_t i = 0; i != parts.size(); ++i)
      if (!isScattered() && call.parts[i].count != 0)
        std::memcpy(parts[i].padded.data(), call.parts[i].in, call.parts[i].count * size);
    MW_TRY(exchange->execute(inner));
    for (size_t i = 0; i != parts.size(); ++i)
      reduce(parts[i], isScattered() ? call.parts[i].out : parts[i].reduced.data());
    if (isScattered())
      return {};
    MW_TRY(spread->execute(inner));
    for (size_t i = 0; i != parts.size(); ++i)
      if (call.parts[i].out && call.parts[i].count != 0)
        std::memcpy(call.parts[i].out, parts[i].gathered.data(), call.parts[i].count * size);
    return {};
  }

  double getCpuSeconds(const Communicator &inner) const {
    return exchange->getCpuSeconds(inner) + (spread ? spread->getCpuSeconds(inner) : 0);
  }

private:
  struct Part {
    uint64_t slice; // elements
    Buffer padded, received, reduced, gathered;
  };

  /// Every buffer has an address, however small it is.
  static void allocate(Buffer &buffer, uint64_t bytes) { buffer.resize(std::max<uint64_t>(bytes, 1)); }

  bool isScattered() const { return hasOperandPerMember(call.kind); }

  void reduce(const Part &part, std::byte *to) const {
    std::vector<const std::byte *> inputs;
    for (size_t member = 0; member != call.members.size(); ++member)
      inputs.push_back(part.received.data() + member * part.slice * getSize(call.type));
    getReduceFn(call.reduction, call.type)(inputs, std::span(&to, 1), 0, part.slice);
  }

  CollectiveCall call;
  int64_t rank;
  std::vector<Part> parts;
  std::optional<CheckedMove> exchange, spread;
};

class MessageChecker : public CommunicatorDecorator {
public:
  MessageChecker(Communicator &inner, int64_t rank) : CommunicatorDecorator(inner), rank(rank) {}

  Result<uint32_t> prepare(CollectiveCall call) override {
    Known &known = *collectives.emplace_back(std::make_unique<Known>());
    if (isReducing(call.kind))
      MW_TRY(known.reduction.emplace(std::move(call), rank).prepare(inner));
    else
      MW_TRY(known.move.emplace(std::move(call), rank).prepare(inner));
    return static_cast<uint32_t>(collectives.size() - 1);
  }
  Status execute(uint32_t number) override {
    Known &known = *collectives[number];
    TimeRange time{TimeRange::now(), 0};
    MW_TRY(known.reduction ? known.reduction->execute(inner) : known.move->execute(inner));
    time.end = TimeRange::now();
    if (trace)
      trace->push_back(time);
    return {};
  }
  /// The backend sees only the moves of a reduction.
  void setTrace(std::vector<TimeRange> *times) override { trace = times; }
  Status start(uint32_t number) override { return execute(number); }
  Status wait(uint32_t) override { return {}; }
  double getCpuSeconds(uint32_t number) const override {
    const Known &known = *collectives[number];
    return known.reduction ? known.reduction->getCpuSeconds(inner) : known.move->getCpuSeconds(inner);
  }

private:
  struct Known {
    std::optional<CheckedMove> move;
    std::optional<CheckedReduction> reduction;
  };

  int64_t rank;
  std::vector<TimeRange> *trace = nullptr;
  std::vector<std::unique_ptr<Known>> collectives;
};

} // namespace

std::unique_ptr<Backend> meshwright::runtime::checkMessages(std::unique_ptr<Backend> backend) {
  return std::make_unique<BackendDecorator>(std::move(backend), [](Communicator &inner, int64_t rank) {
    return std::make_unique<MessageChecker>(inner, rank);
  });
}
