//===- ValueSet.h - arrays spread over ranks --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_VALUESET_H
#define MESHWRIGHT_RUNTIME_VALUESET_H

#include "meshwright/runtime/Communicator.h"
#include "meshwright/runtime/Tensor.h"
#include "meshwright/runtime/World.h"

namespace meshwright::runtime {

/// Variables, inputs or outputs of a session: each is an array of the host, spread over the ranks. Ranks with equal
/// coordinates on the axes that split a value, or over which it is a sum, hold the same *part* of it. Which ranks hold
/// what is known of all; arrays are there of those of this process.
class ValueSet {
public:
  size_t size() const { return values.size(); }
  const std::string &getName(size_t i) const { return values[i].name; }
  DType getType(size_t i) const { return values[i].type; }
  const Shape &getShape(size_t i) const { return values[i].layout->getShape(); }
  uint64_t getBytes(size_t i) const;
  /// The index of that name, if there is one.
  std::optional<size_t> find(const std::string &name) const;
  const Layout &getLayout(size_t i) const { return *values[i].layout; }
  /// The array of a rank of this process; empty where it holds none.
  std::span<std::byte> getArray(size_t i, int64_t rank) const { return values[i].arrays[rank]; }
  /// The ranks that hold the same part as a rank which holds one; they ascend.
  const std::vector<int64_t> &getHolders(size_t i, int64_t rank) const;
  /// The part of a value that a rank holds, and its place in the rank's array.
  const LocalPart &getPart(size_t i, int64_t rank) const;
  /// True if a rank holds a part that no lower rank holds.
  bool isFirstHolder(size_t i, int64_t rank) const;

  /// Adds a value with its layout. No rank holds it yet.
  void add(std::string name, DType type, const Layout &layout, const Mesh &mesh);
  /// A rank holds its part of the value that was added last; ranks ascend. `array` is empty off this process.
  void addHolder(int64_t rank, std::span<std::byte> array);
  /// Checks that every part that the layout of the value added last puts on some rank has a holder.
  Status checkHolders(const Mesh &mesh) const;

  /// Copies a rank's part out of a whole array. Of a sum the first addend is the value and the others are neutral.
  void scatterTo(size_t i, int64_t rank, const std::byte *whole) const;
  /// Copies the arrays of all ranks, which are of this process, into a whole one, each part from its first holder.
  /// Addends are added in the order of their coordinates.
  void gather(size_t i, std::span<std::byte> whole) const;
  /// Appends the arrays of those parts that a rank among `ranks`, of this process, is the first holder of.
  void pack(size_t i, RankRange ranks, Bytes &bytes) const;
  /// The same as `gather`, from what all ranks have packed, one after the other from the lowest.
  void unpack(size_t i, std::span<const std::byte> packed, std::span<std::byte> whole) const;
  /// The number of bytes that these ranks pack.
  uint64_t getPackedBytes(size_t i, RankRange ranks) const;
  /// Classifies the elements that a rank of this process holds; finite if it holds none.
  Finiteness classify(size_t i, int64_t rank) const;
  /// A checksum of the elements that a rank of this process holds.
  uint32_t computeChecksum(size_t i, int64_t rank) const;

private:
  struct Part {
    LocalPart elements;
    /// The number of the addend, for a value that is a sum over axes.
    uint64_t addend;
    /// They ascend.
    std::vector<int64_t> holders;
  };
  struct Value {
    std::string name;
    DType type;
    const Layout *layout;
    std::vector<Part> parts;
    std::vector<uint32_t> partOfRank;
    std::vector<std::span<std::byte>> arrays;

    uint64_t getArrayBytes() const;
  };
  /// Calls fn(part, rank) for every part with a holder and its first holder, in the order of these ranks.
  template <typename Fn> static void forEachFirst(const Value &value, RankRange ranks, Fn &&fn);

  template <typename GetArray>
  static void assemble(const Value &value, std::span<std::byte> whole, GetArray &&getArray);

  std::vector<Value> values;
};

} // namespace meshwright::runtime

#endif
