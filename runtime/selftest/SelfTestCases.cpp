//===- SelfTestCases.cpp - the cases of the conformance suite -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The suite is operation x reduction x type x size x groups x (one part or three, in place or not, executed or started
// and waited for). Where it is a sample, every operation, reduction, type and size is there for all groups, and the
// last three are drawn for each of them by a fixed formula.
//
//===----------------------------------------------------------------------===//

#include "SelfTestCases.h"
#include "SelfTestData.h"
#include <algorithm>

using namespace meshwright;
using namespace meshwright::runtime;

//===----------------------------------------------------------------------===//
// One case
//===----------------------------------------------------------------------===//

std::vector<int64_t> Grouping::getMembers(int64_t rank, int64_t numRanks) const {
  std::vector<int64_t> members;
  if (kind == Kind::Blocks) {
    int64_t begin = rank / size * size;
    for (int64_t member = begin; member != std::min(begin + size, numRanks); ++member)
      members.push_back(member);
  } else if (kind == Kind::Strided) {
    for (int64_t member = rank % size; member < numRanks; member += size)
      members.push_back(member);
  } else {
    for (int64_t member = numRanks; member-- > 0;)
      members.push_back(member);
  }
  return members;
}

std::vector<int64_t> SelfTestCase::getMembers(int64_t rank, int64_t numRanks) const {
  std::vector<int64_t> members = grouping.getMembers(rank, numRanks);
  if (kind != Collective::SEND)
    return members;
  int64_t from = members.front(), to = members.back();
  return from == to || (rank != from && rank != to) ? std::vector<int64_t>() : std::vector<int64_t>{from, to};
}

uint32_t SelfTestCase::getRoot(uint32_t part, size_t numMembers) const {
  return kind == Collective::SEND || !hasRoot(kind) ? 0 : (part + 1) % static_cast<uint32_t>(numMembers);
}

bool SelfTestCase::hasOperand(uint32_t part, size_t place, size_t numMembers) const {
  return (kind != Collective::BROADCAST && kind != Collective::SEND) || place == getRoot(part, numMembers);
}

bool SelfTestCase::hasResult(uint32_t part, size_t place, size_t numMembers) const {
  bool isRoot = place == getRoot(part, numMembers);
  return kind == Collective::REDUCE ? isRoot : kind == Collective::SEND ? !isRoot : true;
}

bool SelfTestCase::isInPlace(uint32_t part, size_t place, size_t numMembers) const {
  return inPlace && (kind == Collective::ALL_REDUCE || hasRoot(kind)) && hasOperand(part, place, numMembers) &&
         hasResult(part, place, numMembers);
}

uint64_t SelfTestCase::getOperandBytes(uint32_t part, size_t numMembers) const {
  return getCount(part) * (hasOperandPerMember(kind) ? numMembers : 1) * getSize(type);
}

uint64_t SelfTestCase::getResultBytes(uint32_t part, size_t numMembers) const {
  return getCount(part) * (hasResultPerMember(kind) ? numMembers : 1) * getSize(type);
}

std::string SelfTestCase::describe() const {
  std::string what = fmt::format("{}", getName(kind));
  if (isReducing(kind)) {
    std::string reductionName = Collective::Reduction_Name(reduction);
    for (char &letter : reductionName)
      letter = static_cast<char>(std::tolower(letter));
    what += " " + reductionName;
  }
  return fmt::format("{} of {} {}{}{}{}", what, count, getName(type),
                     numParts == 1 ? "" : fmt::format(" and more in {} parts", numParts), inPlace ? ", in place" : "",
                     isStarted ? ", started" : "");
}

uint64_t meshwright::runtime::getPartCount(Collective::Kind kind, DType type, uint64_t bytes, size_t numMembers) {
  uint64_t elements = bytes / getSize(type);
  return hasOperandPerMember(kind) || hasResultPerMember(kind) ? elements / numMembers : elements;
}

//===----------------------------------------------------------------------===//
// The suite
//===----------------------------------------------------------------------===//

namespace {

constexpr DType types[] = {F32, F64, BF16, F16, I32, I64, U8, I1, U32, I8, I16, U16, U64};
constexpr Collective::Kind kinds[] = {
#define COLLECTIVE(KIND, PACKAGED, NAME, OPERATION, BEFORE, AFTER, CROSSINGS) Collective::PACKAGED,
#include "meshwright/runtime/Collectives.def"
};
constexpr Collective::Reduction reductions[] = {Collective::SUM, Collective::PRODUCT, Collective::MAX,
                                                Collective::MIN, Collective::AND,     Collective::OR};
constexpr uint64_t oddCount = 1021, smallBytes = 64 << 10, largeBytes = 8 << 20;

/// All ranks, then what splits them: overlapping, in another order, with a smaller rest.
std::vector<Grouping> makeGroupings(int64_t numRanks) {
  std::vector<Grouping> groupings = {{Grouping::Kind::Blocks, numRanks}};
  if (numRanks >= 3)
    groupings.push_back({Grouping::Kind::Reversed});
  if (numRanks >= 4)
    groupings.push_back({Grouping::Kind::Strided, 2});
  for (int64_t size : {1, 2, 3, 4, 8})
    if (size < numRanks)
      groupings.push_back({Grouping::Kind::Blocks, size});
  return groupings;
}

class SuiteMaker {
public:
  SuiteMaker(int64_t numRanks, bool all) : numRanks(numRanks), all(all) {}

  std::vector<SelfTestBatch> make() {
    std::vector<Grouping> groupings = makeGroupings(numRanks);
    for (const Grouping &grouping : groupings)
      for (DType type : types)
        addBatch(grouping, type);
    addFlights(groupings);
    return std::move(batches);
  }

private:
  bool isWhole(const Grouping &grouping) const {
    return grouping.kind == Grouping::Kind::Blocks && grouping.size == numRanks;
  }

  void addBatch(const Grouping &grouping, DType type) {
    batches.push_back({numRanks, 1, {}});
    for (Collective::Kind kind : kinds)
      for (Collective::Reduction reduction : reductions) {
        if (isReducing(kind) ? !isReducible(reduction, type) : reduction != Collective::SUM)
          continue;
        SelfTestCase next;
        next.kind = kind;
        next.reduction = reduction;
        next.type = type;
        next.grouping = grouping;
        addSizes(next);
      }
  }

  void addSizes(SelfTestCase next) {
    size_t members = next.grouping.getMembers(0, numRanks).size();
    for (uint64_t count :
         {uint64_t(0), uint64_t(1), oddCount, getPartCount(next.kind, next.type, smallBytes, members)}) {
      next.count = count;
      if (!all)
        addDrawn(next);
      else
        for (uint64_t variant = 0; variant != 8; ++variant)
          addVariant(next, variant);
    }
    // Large values are there to be split and to fill queues: for that the type hardly matters.
    if (!isWhole(next.grouping) || !(all || (next.type == F32 && next.reduction == Collective::SUM)))
      return;
    next.count = getPartCount(next.kind, next.type, largeBytes, members);
    addDrawn(next);
  }

  void addDrawn(const SelfTestCase &next) { addVariant(next, mixBits(++drawn) % 8); }

  void addVariant(SelfTestCase next, uint64_t variant) {
    next.inPlace = variant & 1;
    if (next.inPlace && next.kind != Collective::ALL_REDUCE && !hasRoot(next.kind)) {
      // These have no such form, so it would be the same case twice.
      if (all)
        return;
      next.inPlace = false;
    }
    next.numParts = variant & 2 ? 3 : 1;
    next.isStarted = variant & 4;
    batches.back().cases.push_back(next);
  }

  /// Several under way at once, of overlapping groups.
  void addFlights(const std::vector<Grouping> &groupings) {
    constexpr size_t window = 8;
    batches.push_back({numRanks, window, {}});
    uint64_t flights = all ? 200 : 20;
    for (uint64_t i = 0; i != flights * window; ++i) {
      uint64_t bits = mixBits(1000000 + i);
      SelfTestCase next;
      next.kind = kinds[bits % std::size(kinds)];
      next.type = types[bits / 16 % 4];
      next.grouping = groupings[bits / 64 % groupings.size()];
      next.count = bits / 1024 % 3000;
      next.numParts = 1 + bits / (1 << 24) % 3;
      next.isStarted = true;
      batches.back().cases.push_back(next);
    }
  }

  int64_t numRanks;
  bool all;
  uint64_t drawn = 0;
  std::vector<SelfTestBatch> batches;
};

} // namespace

std::vector<SelfTestBatch> meshwright::runtime::makeSelfTestBatches(int64_t numRanks, bool all) {
  return SuiteMaker(numRanks, all).make();
}
