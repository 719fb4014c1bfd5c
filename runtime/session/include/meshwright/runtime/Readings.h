//===- Readings.h - the scalars that are read of every step -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_READINGS_H
#define MESHWRIGHT_RUNTIME_READINGS_H

#include "meshwright/runtime/Session.h"
#include <array>

namespace meshwright::runtime {

/// An output or variable of one element.
struct Scalar {
  const ValueSet *set;
  size_t index;
};

/// That of a name, if there is one.
std::optional<Scalar> findScalar(const Session &session, const std::string &name);

/// The scalars that the ranks of this process keep of every step, and which steps were run and not read. There are
/// places for those of two steps, which take turns.
class Readings {
public:
  /// Tells the executors, which are those of the session's ranks in their order, to keep the scalars of these names.
  Status prepare(const Session &session, std::span<const std::string> names,
                 std::span<const std::unique_ptr<Executor>> executors);

  /// The place of the next step's scalars.
  uint32_t getNextPlace() const { return static_cast<uint32_t>(numRun % numPlaces); }
  /// A step was run at a position of an accumulation, in so many seconds by the host's clock. Of more than two that are
  /// not read the oldest is forgotten.
  void noteStep(uint32_t position, double seconds);
  size_t getNumUnread() const { return std::min<uint64_t>(numRun - numRead, numPlaces); }
  /// The place of the oldest step that is not read.
  uint32_t getOldestPlace() const { return static_cast<uint32_t>((numRun - getNumUnread()) % numPlaces); }
  /// Reads the oldest unread step, which is over on all ranks. `costs` are its costs on the ranks of this process, by
  /// the clocks of their devices; the first process returns those of all ranks.
  Result<StepReading> read(const Session &session, StepCosts costs);

private:
  static constexpr size_t numPlaces = 2;
  struct ReadScalar {
    /// The index of the name in the list.
    size_t number;
    /// True if only the last step of a gradient accumulation computes it.
    bool isOfUpdate;
  };

  Status readScalars(const Session &session, uint32_t place, StepReading &reading) const;

  size_t numNames = 0;
  std::vector<ReadScalar> scalars;
  /// The scalars as the ranks hold them, by place.
  std::array<ValueSet, numPlaces> values;
  std::array<uint32_t, numPlaces> positions = {};
  std::array<double, numPlaces> seconds = {};
  uint64_t numRun = 0, numRead = 0;
};

} // namespace meshwright::runtime

#endif
