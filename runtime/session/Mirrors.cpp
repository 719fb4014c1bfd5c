//===- Mirrors.cpp - the host's copies of what devices hold ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Mirrors.h"

using namespace meshwright::runtime;

Result<std::span<std::byte>> Mirrors::add(const ValueSet &set, size_t i, int64_t rank, Executor &executor,
                                          int32_t buffer) {
  std::span<std::byte> array = executor.getBuffer(buffer);
  if (executor.isAddressable())
    return array;
  Copy &copy = copies[rank - ranks.begin][{&set, i}];
  copy.executor = &executor;
  copy.buffer = buffer;
  copy.bytes = array.size();
  MW_TRY(copy.memory.allocate(copy.bytes));
  return copy.getArray();
}

void Mirrors::noteWritten(const ValueSet &set, size_t i) {
  for (std::map<Key, Copy> &ofRank : copies)
    if (auto copy = ofRank.find({&set, i}); copy != ofRank.end())
      copy->second.newer = Newer::Host;
}

void Mirrors::noteComputed(const ValueSet &set) {
  for (std::map<Key, Copy> &ofRank : copies)
    for (auto copy = ofRank.lower_bound({&set, 0}); copy != ofRank.end() && copy->first.first == &set; ++copy)
      copy->second.newer = Newer::Device;
}

Status Mirrors::push(int64_t rank) {
  for (auto &[key, copy] : copies[rank - ranks.begin]) {
    if (copy.newer != Newer::Host)
      continue;
    MW_TRY(copy.executor->write(copy.buffer, copy.getArray()));
    copy.newer = Newer::Neither;
  }
  return {};
}

Status Mirrors::pull(const ValueSet &set, size_t i, int64_t rank) {
  std::map<Key, Copy> &ofRank = copies[rank - ranks.begin];
  auto copy = ofRank.find({&set, i});
  if (copy == ofRank.end() || copy->second.newer != Newer::Device)
    return {};
  MW_TRY(copy->second.executor->read(copy->second.buffer, copy->second.getArray()));
  copy->second.newer = Newer::Neither;
  return {};
}

Status Mirrors::pull(const ValueSet &set, size_t i) {
  for (int64_t rank = ranks.begin; rank != ranks.end; ++rank)
    MW_TRY(pull(set, i, rank));
  return {};
}
