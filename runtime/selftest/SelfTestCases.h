//===- SelfTestCases.h - the cases of the conformance suite -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_SELFTEST_SELFTESTCASES_H
#define MESHWRIGHT_RUNTIME_SELFTEST_SELFTESTCASES_H

#include "meshwright/runtime/Communicator.h"
#include <functional>

namespace meshwright::runtime {

/// How ranks form groups: every rank is in one.
struct Grouping {
  enum class Kind { Blocks, Strided, Reversed };
  Kind kind = Kind::Blocks;
  /// For Blocks, the number of ranks of a group (the last one may have fewer); for Strided, the number of groups.
  int64_t size = 1;

  std::vector<int64_t> getMembers(int64_t rank, int64_t numRanks) const;
};

/// A collective that every group takes part in.
struct SelfTestCase {
  Collective::Kind kind = Collective::ALL_REDUCE;
  Collective::Reduction reduction = Collective::SUM;
  DType type = F32;
  Grouping grouping = {};
  /// Elements of the first part; each further part has one more, and another root.
  uint64_t count = 0;
  uint32_t numParts = 1;
  bool inPlace = false, isStarted = false;

  /// The ranks with which `rank` does it; none where it does not take part: a send has two ends.
  std::vector<int64_t> getMembers(int64_t rank, int64_t numRanks) const;
  uint64_t getCount(uint32_t part) const { return count + part; }
  uint32_t getRoot(uint32_t part, size_t numMembers) const;
  /// Whether the member at that place has an operand and a result, and whether they lie in the same place.
  bool hasOperand(uint32_t part, size_t place, size_t numMembers) const;
  bool hasResult(uint32_t part, size_t place, size_t numMembers) const;
  bool isInPlace(uint32_t part, size_t place, size_t numMembers) const;
  uint64_t getOperandBytes(uint32_t part, size_t numMembers) const;
  uint64_t getResultBytes(uint32_t part, size_t numMembers) const;
  /// As in messages.
  std::string describe() const;
};

/// Cases that one backend runs: `window` of them are under way at once, then the next ones begin.
struct SelfTestBatch {
  int64_t numRanks = 1;
  size_t window = 1;
  std::vector<SelfTestCase> cases;
};

/// The suite for that many ranks.
std::vector<SelfTestBatch> makeSelfTestBatches(int64_t numRanks, bool all);

/// The elements of a part whose whole value, or what a rank has in an all-to-all, is of that many bytes.
uint64_t getPartCount(Collective::Kind kind, DType type, uint64_t bytes, size_t numMembers);

} // namespace meshwright::runtime

#endif
