//===- Communicator.h - collectives between ranks ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The interface behind which the backends stand. Collectives are described once, before the first step, and executed
// by number: nothing is allocated in a step.
//
// Reductions run over the members of the group in their order, for every element, in the type itself or in f32 for the
// 16-bit floats (which are rounded once, at the end): the same bits in every run and on every member.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_COMMUNICATOR_H
#define MESHWRIGHT_RUNTIME_COMMUNICATOR_H

#include "meshwright/runtime/DType.h"
#include "meshwright/runtime/Status.h"
#include <memory>
#include <vector>

namespace meshwright::runtime {

/// A value among those that a collective moves. Sizes are in elements; see the package schema for what the buffers hold
/// and which may be absent or one.
struct CallPart {
  uint64_t count = 0;
  const std::byte *in = nullptr; ///< null where this rank has none
  std::byte *out = nullptr;      ///< null where this rank has none
  uint32_t root = 0;             ///< of broadcasts and reduces: the member's index
};

/// A collective as one of its members sees it.
struct CollectiveCall {
  Collective::Kind kind = Collective::ALL_REDUCE;
  Collective::Reduction reduction = Collective::SUM;
  DType type = F32;
  std::vector<CallPart> parts;
  std::vector<int64_t> members; ///< ranks, in the order of their coordinates
  uint32_t tag = 0;
  std::string name;     ///< for messages: the value's name
  std::string location; ///< for messages: where in the source
};

/// As in messages: `c_allreduce`.
std::string_view getName(Collective::Kind kind);

/// Whether a collective of that kind reduces; whether it has a root; whether the operand of a part, or its result, has
/// `count` elements for every member and not `count` in all.
bool isReducing(Collective::Kind kind);
bool hasRoot(Collective::Kind kind);
bool hasOperandPerMember(Collective::Kind kind);
bool hasResultPerMember(Collective::Kind kind);

/// Whether a reduction is defined on a type: sums and products on numbers, `and` and `or` on integers and i1, maximum
/// and minimum on all.
bool isReducible(Collective::Reduction reduction, DType type);

/// One rank's end of the collectives.
class Communicator {
public:
  virtual ~Communicator() = default;
  /// Describes a collective of this rank before the first step. Returns its number.
  virtual Result<uint32_t> prepare(CollectiveCall call) = 0;
  /// Takes part in a collective; returns when this rank's result is there and its buffers are its own again. Errors
  /// name the rank, the collective, the peer and the place in the source.
  virtual Status execute(uint32_t number) = 0;
  /// The rank has nothing more to do in this step; with an error, those who wait for it are released with that error.
  virtual void finishStep(const Status &status) = 0;
};

/// All ranks of this process.
class Backend {
public:
  virtual ~Backend() = default;
  virtual Communicator &getCommunicator(int64_t rank) = 0;
  /// All ranks are about to begin a step. Called while none is in one.
  virtual void beginStep() = 0;
};

/// Ranks that are threads of this process and read each other's buffers.
std::unique_ptr<Backend> createInprocBackend(int64_t numRanks);

} // namespace meshwright::runtime

#endif
