//===- Comparator.h - when an element agrees --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one place that says when an element of a distributed value agrees with the serial program: its error, measured
// from the twin in f64 (Rounding.h), is at most some times the largest error among samples of that same element, plus
// some units in the last place of its type. Samples are the serial program's result and those of twins that round at
// random. No other element has a part in it.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_COMPARATOR_H
#define MESHWRIGHT_RUNTIME_COMPARATOR_H

#include "meshwright/runtime/Rounding.h"
#include "meshwright/runtime/Tensor.h"

namespace meshwright::runtime {

/// The factor of the largest error among the samples, and the units in the last place beside it.
inline constexpr double errorFactor = 8, lastPlaces = 3;
/// An element of a value of floats after a step, as programs that compute the same have it.
struct ElementSamples {
  const FloatFormat *format;
  double found;     ///< by the distributed programs
  double reference; ///< by the twin that rounds nothing
  /// The largest error of a sample for a place of its rounding, without that of its own last rounding; the largest size
  /// of a number that is rounded.
  double error = 0, magnitude;
  /// The element of a variable before the step, and the largest change from there among the samples.
  std::optional<double> old;
  double change;
  /// More units in the last place, where the samples cannot show how far roundings go.
  double morePlaces = 0;

  /// Begins with the reference.
  ElementSamples(DType type, double found, double reference, std::optional<double> old)
      : ElementSamples(getFloatFormat(type), found, reference, old) {}
  ElementSamples(const FloatFormat &format, double found, double reference, std::optional<double> old)
      : format(&format), found(found), reference(reference),
        magnitude(std::max(std::fabs(reference), std::fabs(old.value_or(0)))), old(old),
        change(old ? std::fabs(reference - *old) : 0) {}

  /// Adds the element as another program has it, with roundings that go so many places. One that is not finite says
  /// nothing of the size of an error.
  void add(double sample, unsigned places = 1) {
    if (!std::isfinite(sample))
      return;
    magnitude = std::max(magnitude, std::fabs(sample));
    error = std::max(error, std::fabs(sample - reference) / places - getSpacing(*format, magnitude));
    if (old)
      change = std::max(change, std::fabs(sample - *old));
  }
  /// The distance from the reference.
  double getError() const { return std::fabs(found - reference); }
  /// The most that is allowed. For a variable that is at most twice its largest change: an update that is nothing but
  /// rounding, as Adam makes it of a gradient that is zero but for that, is as large as the learning rate.
  double getAllowed() const {
    double allowed = errorFactor * error;
    if (old)
      allowed = std::min(allowed, 2 * change);
    return allowed + (lastPlaces + morePlaces) * getSpacing(*format, magnitude);
  }
  bool agrees() const { return getError() <= getAllowed(); }
  /// The error in units of what is allowed, for comparison between elements.
  double getRatio() const { return getError() == 0 ? 0 : getError() / getAllowed(); }
};

/// The outcome of a comparison of two numbers where one of them is not finite.
enum class FiniteOutcome : uint8_t {
  Finite,  ///< both are
  Agree,   ///< both are NaN or the same infinity, or neither is finite in a step that both programs skip
  Disagree ///< one of them is finite, or they are infinite in other ways
};
/// In a step whose update both programs leave out, the order of additions decides whether an overflow is infinite or,
/// where infinities of two signs were added, NaN.
FiniteOutcome compareFiniteness(double found, double expected, bool isSkipped);

/// Moves every element of a float value by so many units in the last place of `arithmetic` or of the value's own type,
/// whichever is larger, up or down as the seed has it. What is zero stays.
void perturb(DType type, std::span<std::byte> value, DType arithmetic, uint64_t seed, double places = 1);

} // namespace meshwright::runtime

#endif
