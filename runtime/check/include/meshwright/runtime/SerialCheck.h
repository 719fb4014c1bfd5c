//===- SerialCheck.h - the serial program beside the others -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elements of both programs differ by rounding. How far that goes is seen in samples: other runs of the same step that
// round in other ways, taken one after the other, the cheap ones first, until no element is in doubt.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_SERIALCHECK_H
#define MESHWRIGHT_RUNTIME_SERIALCHECK_H

#include "meshwright/runtime/Comparator.h"
#include "meshwright/runtime/Feeder.h"
#include <set>

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
  /// Values of which one program has an element that is finite where the other's is not, or another one that is not:
  /// the first of these elements, as printed.
  std::string nonFiniteDifference;
  /// The element that is farthest apart, in units of what is allowed, among those in which the programs differ at all:
  /// its value, its place there, its distance from the twin, and what is allowed. Of integers the number of elements
  /// that differ.
  std::string name;
  Shape index;
  double difference = 0, allowed = 0;

  bool agrees() const { return disagreeing == 0; }
  /// As printed: `52 variables and 1 output agree with the serial program, largest difference 3.00e-07 where 4.00e-06
  /// is allowed (p.w [3, 0])`.
  std::string toString() const;
};

/// The variables that the serial program starts each step from: the distributed ones, so that a difference belongs to
/// the step in which it is seen; or its own, so that a run shows whether differences grow faster than those of
/// rounding.
enum class CheckMode { Together, Apart };

/// Runs the serial program beside the distributed ones and compares every element of every variable and output after
/// each step, as Comparator.h says. Replicas on different ranks have to agree bit for bit, always. Of a run of several
/// processes the first one has the serial program and the report; the others bring their parts, and learn of errors.
///
/// Errors are measured from a twin: the serial program in f64, from the same variables (Rounding.h). Elements that are
/// not near enough to it by their last places and the serial program's own error are held against samples: first the
/// serial program from variables and inputs that are moved by half a place, which costs no more than a step of it, and
/// then twins that round at random. A package without the twin's kernels has the serial program itself for the twin
/// that rounds nothing, and for samples the serial program from variables and inputs that are moved by roundings.
///
/// With gradient accumulation, accumulators are compared as the sums that they are, while an accumulation is under way;
/// outputs that only an update knows after updates.
///
/// A step that both programs skip, because a gradient is not finite, has values that are infinite or NaN as the order
/// of additions has it: any two elements agree there that are not finite.
class SerialCheck {
public:
  /// Prepares the serial program of the session's package, and its twin.
  static Result<std::unique_ptr<SerialCheck>> create(const Session &session, SessionOptions options,
                                                     CheckMode mode = CheckMode::Together);
  ~SerialCheck();

  /// False if the package has no twin.
  bool hasTwin() const { return session.getPackage().hasTwin(); }
  /// Gives the serial variables their initial values and checks that the distributed ones have the same bits.
  Status initialize(const SafeTensors *file, uint64_t seed);
  /// The same where `fill` gives them their values.
  Status initialize(const std::function<Status(Session &)> &fill);
  /// Gives the serial program the distributed variables; needed before a checked step if the one before was not.
  Status synchronize();
  /// Runs the serial program's step; to be called once the distributed step is done.
  Result<CheckReport> check(const Feeder &feeder);

private:
  /// The values of a set, one after another, as bytes.
  struct Snapshot {
    std::vector<uint64_t> offsets = {0};
    std::vector<std::byte> bytes;

    void take(const ValueSet &set);
    std::span<std::byte> get(size_t i) { return std::span(bytes).subspan(offsets[i], offsets[i + 1] - offsets[i]); }
  };
  /// A value of floats, as bytes of the distributed and the serial program.
  struct Compared {
    bool isVariable;
    size_t index;
    DType type;
    std::span<const std::byte> ours, theirs;
  };
  /// An element that does not agree at first sight.
  struct Doubt {
    bool isVariable;
    size_t index;
    uint64_t element;
    ElementSamples samples;
  };
  /// A run that gives a sample of every element: of the twin with roundings of so many places, or of the serial program
  /// from variables and inputs that are moved by so many.
  struct SampleRun {
    bool isTwin;
    double places;
  };
  /// The elements of a value in the run of the last sample.
  class SampledValue;

  SerialCheck(const Session &session, CheckMode mode) : session(session), mode(mode) {}
  Status createTwin(const SessionOptions &options);
  Status prepareStep(const Feeder &feeder);
  Status compareValues(bool variables, const Feeder &feeder, CheckReport &report);
  Status compareValue(const Compared &value, const Feeder &feeder, CheckReport &report);
  template <typename T> void compareElements(const Compared &value, CheckReport &report);
  void noteNonFinite(const Compared &value, uint64_t element, double found, double expected, CheckReport &report);
  bool isSum(const Compared &value) const;
  void noteIntegers(const Compared &value, CheckReport &report);
  Status findSkipped(CheckReport &report);
  Status judgeDoubts(const Feeder &feeder, CheckReport &report);
  void addSamples(CheckReport &report);
  int getMostRuns() const;
  SampleRun getRun(int number) const;
  uint64_t getSeed(int number) const;
  Status runSample(const Feeder &feeder);
  Status runTwin(int number, std::optional<unsigned> places, const Feeder &feeder);
  Status runPerturbed(int number, double places, const Feeder &feeder);
  void note(const Doubt &doubt, CheckReport &report);
  void noteWrong(bool isVariable, size_t index, CheckReport &report);
  const ValueSet &getSet(const Session &of, bool variables) const {
    return variables ? of.getVariables() : of.getOutputs();
  }
  std::span<std::byte> getScratch(int which, uint64_t bytes);

  const Session &session;
  CheckMode mode;
  /// On the first process.
  std::unique_ptr<Session> serial;
  std::unique_ptr<LoadedPackage> twinPackage;
  std::unique_ptr<Session> twin;
  std::vector<std::byte> scratch[4];
  /// The serial variables before the step, and where they stood in an accumulation.
  Snapshot before;
  uint32_t position = 0;
  /// The outputs and variables of the serial step, and the variables that the next step begins with.
  Snapshot results[2], next;
  /// The samples of this step, and whether the last one is the serial program's, from variables that were `moved`.
  int samples = 0;
  bool isLastMoved = false;
  Snapshot moved;
  /// Where programs go apart: the variables of the samples, those of the twin that rounds nothing first.
  std::vector<std::vector<std::byte>> states;
  std::vector<Doubt> doubts;
  /// The values that do not agree, and the ratio of the farthest element.
  std::set<std::pair<bool, size_t>> wrong;
  double largestRatio = 0;
  uint64_t steps = 0;
  DType arithmetic = F64;
  /// The most numbers that a kernel of the serial program adds up.
  uint64_t longestSum = 1;
};

/// The values of scalar outputs or variables of those names, from the ranks, on the first process; nothing where there
/// is none of the name, or the last step did not say it.
Result<std::vector<std::optional<double>>> readScalars(const Session &session, std::span<const std::string> names);

} // namespace meshwright::runtime

#endif
