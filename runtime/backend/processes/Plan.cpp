//===- Plan.cpp - a collective as messages and sums -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A planner walks through the algorithm of Plan.h once, for one member, and notes the messages, sums and copies of
// each round. Parts are cut into segments by owner, and segments into rounds that fit the limits; two stages of
// scratch memory let the sums of a round overlap the messages of the next.
//
//===----------------------------------------------------------------------===//

#include "Plan.h"
#include <algorithm>
#include <utility>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::runtime::processes;

namespace {

Place at(const std::byte *address) { return {reinterpret_cast<uint64_t>(address), false}; }

/// Elements [begin, end) of a part, which `owner` reduces or sends on: of the part's block for the owner, where it has
/// such blocks.
struct Segment {
  size_t part;
  uint64_t owner, begin, end;
};

class Planner {
public:
  Planner(const CollectiveCall &call, uint64_t me, const PlanLimits &limits)
      : call(call), limits(limits), me(me), members(call.members.size()), size(getSize(call.type)) {}

  Plan run() {
    if (isReducing(call.kind))
      reduce();
    else if (call.kind == Collective::BROADCAST)
      broadcast();
    else
      move();
    for (Batch &batch : plan.batches)
      pack(batch);
    return std::move(plan);
  }

private:
  // Building blocks.

  Place allocate(uint64_t bytes) {
    Place place{plan.scratchBytes, true};
    // In whole cache lines, so that loops over elements are aligned.
    plan.scratchBytes += (bytes + 63) / 64 * 64;
    return place;
  }

  void transfer(Batch &batch, Place place, uint64_t bytes, uint64_t peer, bool isSend) {
    for (uint64_t done = 0; done < bytes; done += limits.message)
      batch.transfers.push_back({place + done, std::min(limits.message, bytes - done), peer, isSend});
  }
  void send(Batch &batch, Place from, uint64_t bytes, uint64_t peer) { transfer(batch, from, bytes, peer, true); }
  void receive(Batch &batch, Place to, uint64_t bytes, uint64_t peer) { transfer(batch, to, bytes, peer, false); }

  void copy(Place to, Place from, uint64_t bytes) {
    if (bytes == 0 || to == from)
      return;
    plan.actions.push_back({Action::Kind::Copy, plan.copies.size()});
    plan.copies.push_back({to, from, bytes});
  }

  /// The number of a batch that is under way from here on.
  size_t post(Batch batch) {
    plan.actions.push_back({Action::Kind::Post, plan.batches.size()});
    plan.batches.push_back(std::move(batch));
    return plan.batches.size() - 1;
  }
  void complete(size_t batch) { plan.actions.push_back({Action::Kind::Complete, batch}); }
  void complete(const std::vector<size_t> &posted) {
    for (size_t batch : posted)
      complete(batch);
  }

  /// In each round `gather` makes what comes to its owners, `work` is what they do with it, and `spread`, where that is
  /// wanted, makes what goes on from them. Two rounds are under way at once.
  template <typename Gather, typename Work, typename Spread>
  void pipeline(size_t rounds, bool isSpread, Gather gather, Work work, Spread spread) {
    std::vector<size_t> toOwners, fromOwners;
    for (size_t round = 0; round != rounds; ++round) {
      for (size_t next = toOwners.size(); next != std::min(round + 2, rounds); ++next)
        toOwners.push_back(post(gather(next)));
      complete(toOwners[round]);
      work(round);
      if (isSpread)
        fromOwners.push_back(post(spread(round)));
      if (isSpread && round != 0)
        complete(fromOwners[round - 1]);
    }
    if (!fromOwners.empty())
      complete(fromOwners.back());
  }

  /// The other members, each beginning with the next one, so that not all talk to the same.
  template <typename Fn> void forEachOther(Fn fn) const {
    for (uint64_t i = 1; i != members; ++i)
      fn((me + i) % members);
  }

  // Movements.

  void move() {
    Batch batch;
    for (const CallPart &part : call.parts)
      movePart(batch, part);
    size_t number = post(std::move(batch));
    for (const CallPart &part : call.parts)
      copyOwn(part);
    complete(number);
  }

  void movePart(Batch &batch, const CallPart &part) {
    uint64_t bytes = part.count * size;
    if (hasRoot(call.kind)) {
      if (part.root != me)
        return receive(batch, at(part.out), bytes, part.root);
      return forEachOther([&](uint64_t other) { send(batch, at(part.in), bytes, other); });
    }
    bool isPerMember = hasOperandPerMember(call.kind);
    forEachOther([&](uint64_t other) {
      receive(batch, at(part.out) + other * bytes, bytes, other);
      send(batch, at(part.in) + (isPerMember ? other * bytes : 0), bytes, other);
    });
  }

  /// Copies the part that stays on this rank.
  void copyOwn(const CallPart &part) {
    uint64_t bytes = part.count * size;
    if (!hasRoot(call.kind))
      copy(at(part.out) + me * bytes, at(part.in) + (hasOperandPerMember(call.kind) ? me * bytes : 0), bytes);
    else if (part.root == me && part.out)
      copy(at(part.out), at(part.in), bytes);
  }

  // Slices.

  /// The segments of each owner, in rounds: [round][owner].
  using Rounds = std::vector<std::vector<std::vector<Segment>>>;
  using Parts = std::vector<size_t>;

  /// Those for which fn(part) holds, in order.
  template <typename Fn> Parts findParts(Fn fn) const {
    Parts parts;
    for (size_t part = 0; part != call.parts.size(); ++part)
      if (fn(call.parts[part]))
        parts.push_back(part);
    return parts;
  }

  uint64_t countElements(const Parts &parts) const {
    uint64_t count = 0;
    for (size_t part : parts)
      count += call.parts[part].count;
    return count;
  }

  /// Gives an owner elements [begin, end) of some parts, one after the other, cut where parts and rounds end.
  void cut(Rounds &rounds, const Parts &parts, uint64_t owner, uint64_t begin, uint64_t end) const {
    // A single member waits for no other.
    uint64_t perRound = members == 1 ? std::max(end - begin, uint64_t(1)) : std::max(limits.round / size, uint64_t(1));
    uint64_t first = 0, next = begin;
    for (size_t part : parts) {
      uint64_t partEnd = std::min(end, first + call.parts[part].count);
      while (next < partEnd) {
        uint64_t round = (next - begin) / perRound, stop = std::min(partEnd, begin + (round + 1) * perRound);
        if (rounds.size() <= round)
          rounds.resize(round + 1, std::vector<std::vector<Segment>>(members));
        rounds[round][owner].push_back({part, owner, next - first, stop - first});
        next = stop;
      }
      first += call.parts[part].count;
    }
  }

  /// Gives each of `owners` owners, of which `getOwner(i)` is one, a slice of some parts.
  template <typename Fn> void cutSlices(Rounds &rounds, const Parts &parts, uint64_t owners, Fn getOwner) const {
    uint64_t total = countElements(parts);
    uint64_t slice = std::max((total + owners - 1) / owners, limits.slice / size);
    slice = (slice * size + 63) / 64 * 64 / size;
    for (uint64_t i = 0; i != owners; ++i)
      cut(rounds, parts, getOwner(i), std::min(i * slice, total), std::min((i + 1) * slice, total));
  }

  uint64_t getBytes(const Segment &segment) const { return (segment.end - segment.begin) * size; }
  uint64_t getBytes(const std::vector<Segment> &segments) const {
    uint64_t bytes = 0;
    for (const Segment &segment : segments)
      bytes += getBytes(segment);
    return bytes;
  }

  Place getInput(const Segment &segment) const {
    const CallPart &part = call.parts[segment.part];
    uint64_t block = hasOperandPerMember(call.kind) ? segment.owner * part.count : 0;
    return at(part.in) + (block + segment.begin) * size;
  }

  /// Whether a member wants what an owner has of a segment.
  bool wants(const Segment &segment, uint64_t member) const {
    bool isRoot = call.parts[segment.part].root == member;
    return call.kind == Collective::REDUCE ? isRoot : call.kind != Collective::BROADCAST || !isRoot;
  }

  Place getOutput(const Segment &segment) const { return at(call.parts[segment.part].out) + segment.begin * size; }

  // Broadcasts.

  void broadcast() {
    uint64_t total = 0;
    std::vector<uint64_t> ofRoots(members);
    for (const CallPart &part : call.parts) {
      ofRoots[part.root] += part.count * size;
      total += part.count * size;
    }
    // Where every member is the root of about as much, none sends more than the others.
    uint64_t largest = *std::max_element(ofRoots.begin(), ofRoots.end());
    if (limits.isOneHost || members <= 2 || members * largest <= total + total / 4)
      return move();
    if (total <= limits.tree)
      broadcastByTree();
    else
      broadcastBySlices();
    for (const CallPart &part : call.parts)
      copyOwn(part);
  }

  /// A member that has a part sends it on, further and further from the root:
  ///
  ///   root 0   0 ─► 1    0 ─► 2, 1 ─► 3    0 ─► 4, 1 ─► 5, 2 ─► 6, 3 ─► 7
  void broadcastByTree() {
    std::vector<size_t> open;
    for (uint64_t reach = 1; reach < members; reach *= 2) {
      Batch batch;
      bool hasToCome = false;
      for (const CallPart &part : call.parts) {
        uint64_t bytes = part.count * size, distance = (me + members - part.root) % members;
        if (distance < reach && distance + reach < members)
          send(batch, at(distance == 0 ? part.in : part.out), bytes, (me + reach) % members);
        if (distance < reach || distance >= 2 * reach)
          continue;
        receive(batch, at(part.out), bytes, (me + members - reach) % members);
        hasToCome = true;
      }
      open.push_back(post(std::move(batch)));
      if (hasToCome)
        complete(std::exchange(open, {}));
    }
    complete(open);
  }

  /// A slice goes from the root to each of the others, and from it to all of these.
  void broadcastBySlices() {
    Rounds rounds;
    for (uint64_t root = 0; root != members; ++root)
      cutSlices(rounds, findParts([&](const CallPart &part) { return part.root == root; }), members - 1,
                [&](uint64_t i) { return (root + 1 + i) % members; });
    // Nothing is kept on the way.
    const Stage none;
    pipeline(
        rounds.size(), true, [&](size_t round) { return handOut(rounds[round]); }, [](size_t) {},
        [&](size_t round) { return spread(rounds[round], none); });
  }

  Batch handOut(const std::vector<std::vector<Segment>> &round) {
    Batch batch;
    auto isRoot = [&](uint64_t member, const Segment &segment) { return call.parts[segment.part].root == member; };
    forEachOther([&](uint64_t other) {
      for (const Segment &segment : round[me])
        if (isRoot(other, segment))
          receive(batch, getOutput(segment), getBytes(segment), other);
      for (const Segment &segment : round[other])
        if (isRoot(me, segment))
          send(batch, getInput(segment), getBytes(segment), other);
    });
    return batch;
  }

  // Reductions.

  void reduce() {
    Parts all = findParts([](const CallPart &) { return true; });
    uint64_t total = countElements(all);
    bool isDirect = call.kind == Collective::ALL_REDUCE && total * size <= limits.direct;
    bool isSpread = !hasOperandPerMember(call.kind) && !isDirect;
    Rounds rounds;
    if (isSpread)
      cutSlices(rounds, all, members, [](uint64_t i) { return i; });
    else
      for (uint64_t owner = 0; owner != members; ++owner)
        cut(rounds, all, owner, 0, total);
    Stage stages[2] = {createStage(rounds), createStage(rounds)};
    pipeline(
        rounds.size(), isSpread, [&](size_t round) { return gather(rounds[round], stages[round % 2]); },
        [&](size_t round) { reduceOwn(rounds[round][me], stages[round % 2]); },
        [&](size_t round) { return spread(rounds[round], stages[round % 2]); });
  }

  /// Memory for a round's arrivals at this member: a block from each other member, and one for a result to send on.
  struct Stage {
    Place blocks;
    uint64_t blockBytes = 0;

    Place getBlock(uint64_t member) const { return blocks + member * blockBytes; }
  };

  Stage createStage(const Rounds &rounds) {
    uint64_t bytes = 0;
    for (const auto &round : rounds)
      bytes = std::max(bytes, getBytes(round[me]));
    bytes = members == 1 ? 0 : (bytes + 63) / 64 * 64;
    return {allocate(bytes * (members + 1)), bytes};
  }

  Batch gather(const std::vector<std::vector<Segment>> &round, const Stage &stage) {
    Batch batch;
    forEachOther([&](uint64_t other) {
      Place place = stage.getBlock(other);
      for (const Segment &segment : round[me]) {
        receive(batch, place, getBytes(segment), other);
        place = place + getBytes(segment);
      }
      for (const Segment &segment : round[other])
        send(batch, getInput(segment), getBytes(segment), other);
    });
    return batch;
  }

  /// Where a result is on its owner: where it is wanted, or on its way.
  Place getResult(const Segment &segment, const Stage &stage, uint64_t offset) const {
    return wants(segment, me) ? getOutput(segment) : stage.getBlock(members) + offset;
  }

  void reduceOwn(const std::vector<Segment> &segments, const Stage &stage) {
    uint64_t offset = 0;
    for (const Segment &segment : segments) {
      Reduction reduction;
      for (uint64_t member = 0; member != members; ++member)
        reduction.inputs.push_back(member == me ? getInput(segment) : stage.getBlock(member) + offset);
      reduction.output = getResult(segment, stage, offset);
      reduction.count = segment.end - segment.begin;
      plan.actions.push_back({Action::Kind::Reduce, plan.reductions.size()});
      plan.reductions.push_back(std::move(reduction));
      offset += getBytes(segment);
    }
  }

  Batch spread(const std::vector<std::vector<Segment>> &round, const Stage &stage) {
    Batch batch;
    forEachOther([&](uint64_t other) {
      for (const Segment &segment : round[other])
        if (wants(segment, me))
          receive(batch, getOutput(segment), getBytes(segment), other);
      uint64_t offset = 0;
      for (const Segment &segment : round[me]) {
        if (wants(segment, other))
          send(batch, getResult(segment, stage, offset), getBytes(segment), other);
        offset += getBytes(segment);
      }
    });
    return batch;
  }

  // Small messages.

  /// Makes one message of what moves between two members in a batch, where it is small.
  void pack(Batch &batch) {
    std::vector<Transfer> transfers = std::move(batch.transfers);
    batch.transfers.clear();
    for (bool isSend : {false, true})
      forEachOther([&](uint64_t other) {
        std::vector<Transfer> between;
        uint64_t bytes = 0;
        for (const Transfer &transfer : transfers)
          if (transfer.peer == other && transfer.isSend == isSend) {
            between.push_back(transfer);
            bytes += transfer.bytes;
          }
        if (between.size() < 2 || bytes > limits.packed) {
          batch.transfers.insert(batch.transfers.end(), between.begin(), between.end());
          return;
        }
        Place place = allocate(bytes);
        batch.transfers.push_back({place, bytes, other, isSend});
        for (const Transfer &transfer : between) {
          if (isSend)
            batch.packed.push_back({place, transfer.place, transfer.bytes});
          else
            batch.unpacked.push_back({transfer.place, place, transfer.bytes});
          place = place + transfer.bytes;
        }
      });
  }

  const CollectiveCall &call;
  const PlanLimits &limits;
  uint64_t me, members, size;
  Plan plan;
};

} // namespace

Plan meshwright::runtime::processes::planCollective(const CollectiveCall &call, uint64_t member,
                                                    const PlanLimits &limits) {
  return Planner(call, member, limits).run();
}
