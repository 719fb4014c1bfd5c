//===- SerialCheck.h - the serial program beside the others -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_SERIALCHECK_H
#define MESHWRIGHT_RUNTIME_SERIALCHECK_H

#include "meshwright/runtime/Comparator.h"
#include "meshwright/runtime/Feeder.h"

namespace meshwright::runtime {

/// The result of a checked step.
struct CheckReport {
  /// The numbers of variables and outputs that were compared.
  size_t variables = 0, outputs = 0;
  /// Values that do not agree.
  size_t disagreeing = 0;
  /// Values with elements that are not finite in either program, and the first of them. They are said, whether they
  /// agree or not; two programs that compute NaN alike are as wrong as one.
  size_t nonFinite = 0;
  std::string nonFiniteName;
  /// True if both programs skipped the update of the step.
  bool isSkipped = false;
  /// The value that is farthest apart, measured by its tolerance.
  std::string name;
  Comparison largest;

  bool agrees() const { return disagreeing == 0; }
  /// As printed: `52 variables and 1 output agree with the serial program, largest difference 3e-07 (p.w)`.
  std::string toString() const;
};

/// Runs the serial program beside the distributed ones and compares every variable and output after each step, by the
/// comparator of Comparator.h. Replicas on different ranks have to agree bit for bit, always. Of a run of several
/// processes the first one has the serial program and the report; the others bring their parts, and learn of errors.
///
/// Each checked step starts from the same variables: after the comparison the serial program takes over the distributed
/// ones. A difference then belongs to the step in which it is seen, and rounding does not add up over a long run.
///
/// A difference is compared with the serial program's own rounding: its step is run again from variables that
/// differ by one rounding, and what that changes, times 8, is tolerated.
///
/// With gradient accumulation, accumulators are compared as the sums that they are, while an accumulation is under way;
/// outputs that only an update knows after updates.
///
/// A step that both programs skip, because a gradient is not finite, has values that are infinite or NaN as the order
/// of additions has it: any two elements agree there that are not finite.
///
/// The scale of a variable is the learning rate where the package says which value holds it; else a thousandth of what
/// an array of its size of typical elements (in the mean square over all variables of its kind) would have as norm.
/// That of an accumulator is a thousandth of the norm of all of them.
class SerialCheck {
public:
  /// Prepares the serial program of the session's package.
  static Result<std::unique_ptr<SerialCheck>> create(const Session &session, SessionOptions options);

  /// Gives the serial variables their initial values and checks that the distributed ones have the same bits.
  Status initialize(const SafeTensors *file, uint64_t seed);
  /// The same where `fill` gives them their values.
  Status initialize(const std::function<Status(Session &)> &fill);
  /// Gives the serial program the distributed variables; needed before a checked step if the one before was not.
  Status synchronize();
  /// Runs the serial program's step; to be called once the distributed step is done.
  Result<CheckReport> check(const Feeder &feeder);

private:
  /// A value that does not agree at first sight, with what the serial program said.
  struct Doubt {
    bool isVariable;
    size_t index;
    std::vector<std::byte> ours, theirs;
  };

  explicit SerialCheck(const Session &session) : session(session) {}
  Status runSerialStep(const Feeder &feeder);
  Status prepareStep(const Feeder &feeder);
  void computeScales();
  void scaleGradients(const ValueSet &set, std::vector<double> &scales, const std::function<bool(size_t)> &isGradient);
  void scaleByKind();
  double getSerialNorm(const ValueSet &set, size_t i);
  Status compareValues(bool variables, CheckReport &report);
  Status findSkipped(CheckReport &report);
  Status judgeDoubts(const Feeder &feeder, uint32_t position, CheckReport &report);
  void note(const std::string &name, const Comparison &comparison, CheckReport &report);
  std::optional<double> getLearningRate();
  std::span<std::byte> getScratch(int which, uint64_t bytes);

  const Session &session;
  /// On the first process.
  std::unique_ptr<Session> serial;
  std::vector<double> variableScales, outputScales;
  std::vector<std::byte> scratch[2];
  /// The serial variables before the step, one after another.
  std::vector<std::byte> before;
  std::vector<Doubt> doubts;
  DType arithmetic = F64;
};

/// The values of scalar outputs or variables of those names, from the ranks, on the first process; nothing where there
/// is none of the name, or the last step did not say it.
Result<std::vector<std::optional<double>>> readScalars(const Session &session, std::span<const std::string> names);

} // namespace meshwright::runtime

#endif
