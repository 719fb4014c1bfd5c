//===- CollectiveTraits.h - properties of the kinds of collectives -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiler and runtime take the properties of a kind from here, so that they cannot differ.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_COLLECTIVETRAITS_H
#define MESHWRIGHT_RUNTIME_COLLECTIVETRAITS_H

#include <cstdint>
#include <iterator>

namespace meshwright {

/// The state of a value on one axis of the mesh: every rank has it, a part of it, a term of its reduction, or one
/// rank alone has it.
enum class AxisState { Replicated, Split, Partial, Held };

/// A row of Collectives.def.
struct CollectiveTraits {
  const char *name;
  AxisState before, after;
  /// Bytes that cross links in a group of `n`, as a multiple of the larger of one member's operand and result.
  int64_t (*countCrossings)(int64_t n);

  constexpr bool isReducing() const { return before == AxisState::Partial; }
  /// True if one member alone has an operand, and if one alone gets a result.
  constexpr bool hasSource() const { return before == AxisState::Held; }
  constexpr bool hasTarget() const { return after == AxisState::Held; }
  constexpr bool hasRoot() const { return hasSource() || hasTarget(); }
  /// True if the source and the target take part, and no other member.
  constexpr bool isPair() const { return hasSource() && hasTarget(); }
  /// True if the operand, and the result, has a piece for each member of the group.
  constexpr bool hasOperandPerMember() const { return after == AxisState::Split; }
  constexpr bool hasResultPerMember() const { return before == AxisState::Split; }
};

/// The rows in their order.
inline constexpr CollectiveTraits kCollectives[] = {
#define COLLECTIVE(KIND, PACKAGED, NAME, OPERATION, BEFORE, AFTER, CROSSINGS)                                          \
  {NAME, AxisState::BEFORE, AxisState::AFTER, [](int64_t n) -> int64_t { return n > 0 ? CROSSINGS : 0; }},
#include "meshwright/runtime/Collectives.def"
};

inline constexpr unsigned kNumCollectives = std::size(kCollectives);

} // namespace meshwright

#endif
