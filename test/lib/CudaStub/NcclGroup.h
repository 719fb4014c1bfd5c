//===- NcclGroup.h - meeting point of a group -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A group is a piece of memory that its members share, whether they are threads of one process or not: what guards
// their meetings, and a place for what each of them brings. It has a name only until all members have it.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TEST_LIB_CUDASTUB_NCCLGROUP_H
#define MESHWRIGHT_TEST_LIB_CUDASTUB_NCCLGROUP_H

#include <cstdint>
#include <memory>
#include <string>

namespace meshwright::stub {

/// A member's view of its group.
class NcclGroup {
public:
  /// The largest contribution of a member to a meeting, in bytes.
  static constexpr uint64_t maxBytes = uint64_t(256) << 20;

  /// A name that no other group of this machine has.
  static std::string makeName();
  /// Null where the memory cannot be had.
  static std::shared_ptr<NcclGroup> join(const std::string &name, uint32_t size, uint32_t member);
  ~NcclGroup();

  uint32_t getSize() const;
  bool areAllThere() const;
  /// Releases all members that wait.
  void abort();
  void noteDisagreement();
  bool hasDisagreed() const;

  /// The place for the next contribution of this member. No member reads it between two meetings.
  std::byte *getOwnPlace() const { return getPlace(member); }
  const std::byte *getPlaceOf(uint32_t other) const { return getPlace(other); }
  /// Waits for the contributions of all members; returns false if one cannot come any more.
  bool meet();
  /// Returns when all who have met are done with each other's places. They all come, whatever happens.
  void leave();

private:
  struct Shared;
  NcclGroup(std::string name, Shared *shared, uint64_t bytes, uint32_t member)
      : name(std::move(name)), shared(shared), bytes(bytes), member(member) {}
  std::byte *getPlace(uint32_t of) const;
  bool arrive(bool mayBeAborted);

  std::string name;
  Shared *shared;
  uint64_t bytes;
  uint32_t member;
};

} // namespace meshwright::stub

#endif
