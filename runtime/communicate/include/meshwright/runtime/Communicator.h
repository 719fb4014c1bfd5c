//===- Communicator.h - collectives between ranks ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The interface of the backends. Collectives are described once, before the first step, and executed
// by number: nothing is allocated in a step. Started ones run beside the rank's computation. All collectives
// of a rank run one after the other, in the order in which they are issued.
//
// Reductions run over the members of the group in their order, for every element, in the type itself or in f32 for the
// 16-bit floats (which are rounded once, at the end): the same bits in every run and on every member.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_COMMUNICATOR_H
#define MESHWRIGHT_RUNTIME_COMMUNICATOR_H

#include "meshwright/runtime/CollectiveTraits.h"
#include "meshwright/runtime/DType.h"
#include "meshwright/runtime/Layout.h"
#include "meshwright/runtime/LinkModel.h"
#include "meshwright/runtime/TimeRange.h"
#include <memory>
#include <vector>

namespace meshwright::runtime {

/// A value among those that a collective moves. Sizes are in elements; see the package schema for what the buffers hold
/// and which may be absent or one.
struct CallPart {
  uint64_t count = 0;
  const std::byte *in = nullptr; ///< null where this rank has none
  std::byte *out = nullptr;      ///< null where this rank has none
  uint32_t root = 0;             ///< of broadcasts, reduces and sends: the member's index
};

/// A collective as one of its members sees it.
struct CollectiveCall {
  Collective::Kind kind = Collective::ALL_REDUCE;
  Collective::Reduction reduction = Collective::SUM;
  DType type = F32;
  std::vector<CallPart> parts;
  std::vector<int64_t> members; ///< ranks, in the order of their coordinates
  bool isStarted = false;       ///< issued by `start`, at least once
  uint32_t tag = 0;
  std::string name;     ///< for messages: the value's name
  std::string location; ///< for messages: where in the source
};

/// The properties of a kind; those of a kind that is not in the package's schema say nothing.
const CollectiveTraits &getTraits(Collective::Kind kind);

/// The name in messages: `c_allreduce`.
inline std::string_view getName(Collective::Kind kind) { return getTraits(kind).name; }

/// True if a collective of that kind reduces; if it has a root; if the operand of a part, or its result, has `count`
/// elements for each member and not `count` in all.
inline bool isReducing(Collective::Kind kind) { return getTraits(kind).isReducing(); }
inline bool hasRoot(Collective::Kind kind) { return getTraits(kind).hasRoot(); }
inline bool hasOperandPerMember(Collective::Kind kind) { return getTraits(kind).hasOperandPerMember(); }
inline bool hasResultPerMember(Collective::Kind kind) { return getTraits(kind).hasResultPerMember(); }

/// The ranks that take part in a checked collective with `rank`, which does: of a send the root and who gets it, of
/// anything else the group.
std::vector<int64_t> getMembers(const Collective &collective, const Mesh &mesh, int64_t rank);

/// The bytes that a rank sends for one part, in the mean over the group, or the root of a send; `partBytes` are those
/// of `count` elements.
double getSentBytes(Collective::Kind kind, uint64_t members, uint64_t partBytes);

/// Whether a reduction is defined on a type: sums and products on numbers, `and` and `or` on integers and i1, maximum
/// and minimum on all.
bool isReducible(Collective::Reduction reduction, DType type);

/// One rank's end of the collectives. Errors name the rank, the collective, the peer and the place in the source.
class Communicator {
public:
  virtual ~Communicator() = default;
  /// Describes a collective of this rank before the first step. Returns its number.
  virtual Result<uint32_t> prepare(CollectiveCall call) = 0;
  /// Makes the groups of all that was prepared, in one order on all ranks, each when all its members have come. Called
  /// once on every rank, as a step, when all ranks have prepared everything.
  virtual Status connect() = 0;
  /// Takes part in a collective; returns when this rank's result is there and its buffers are its own again.
  virtual Status execute(uint32_t number) = 0;
  /// Issues a collective, which then runs while the rank goes on. Its errors come out where it is waited for. Not while
  /// it runs already.
  virtual Status start(uint32_t number) = 0;
  /// Returns when a started collective is over on this rank, and with it all that were issued before it.
  virtual Status wait(uint32_t number) = 0;
  /// The rank has nothing more to do in this step; with an error, those who wait for it are released with that error.
  /// Returns when nothing that the rank started runs any more.
  virtual void finishStep(const Status &status) = 0;
  /// The CPU time of the collective's last execution on this rank, in seconds. Measured while the backend profiles.
  virtual double getCpuSeconds(uint32_t number) const = 0;
  /// From now on adds to `times` when each collective ran, in the order of issue; not any more where it is null. Called
  /// while the rank is in no step. Who does not know adds nothing.
  virtual void setTrace(std::vector<TimeRange> *times) {}
};

/// The ranks of this process, begin <= rank < end: neighbours.
struct RankRange {
  int64_t begin = 0, end = 0;

  int64_t size() const { return end - begin; }
  bool contains(int64_t rank) const { return begin <= rank && rank < end; }
};

/// How the ranks of this process reach each other and those of other processes.
class Backend {
public:
  virtual ~Backend() = default;
  virtual RankRange getRanks() const = 0;
  /// That of a rank of this process.
  virtual Communicator &getCommunicator(int64_t rank) = 0;
  /// All ranks of this process are about to begin a step. Called while none of them is in one.
  virtual void beginStep() = 0;
  /// Measures what collectives cost, and lets no modelled link delay them. Called while no rank is in a step.
  virtual void setProfiling(bool on) = 0;
};

} // namespace meshwright::runtime

#endif
