//===- Session.h - a package while it runs ----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All ranks of the distributed programs, or the one of the serial program, with the values that go in and come out as
// whole arrays of the host. Of a run of several processes each has a session with its own ranks; the sessions do the
// same things in the same order, and whole arrays are those of the first process.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_SESSION_H
#define MESHWRIGHT_RUNTIME_SESSION_H

#include "meshwright/runtime/Executor.h"
#include "meshwright/runtime/Platform.h"
#include "meshwright/runtime/SafeTensors.h"
#include "meshwright/runtime/ValueSet.h"
#include "meshwright/runtime/World.h"
#include <functional>
#include <map>

namespace meshwright::runtime {

class FlightRecorder;
class Session;

struct SessionOptions {
  /// The processes over which the ranks are spread, which outlives the session; null for this one alone.
  World *world = nullptr;
  /// Run the serial program instead of the distributed ones.
  bool serial = false;
  /// The kind of devices that the ranks compute on; null for the CPU.
  const DeviceKind *device = nullptr;
  /// The options for the platform. The serial program has no link to the host, and the timeout is the one below.
  PlatformOptions platform = {};
  /// A link that the collectives of the distributed programs are delayed by.
  std::optional<LinkModel> link;
  /// Runs in the arenas of this session, which outlives it and has programs whose variables the package's share; null
  /// for arenas of its own. The two take turns.
  const Session *beside = nullptr;
  /// See BackendOptions.
  double timeoutSeconds = 600;
  bool checkCollectives = false;
  /// Records the instructions of the ranks of distributed programs; null for no record.
  FlightRecorder *flights = nullptr;
  /// Counts the allocations of the calling thread so far; null for no count.
  uint64_t (*countAllocations)() = nullptr;
};

/// Differences between file and variables that `initialize` found, for the user.
struct InitialReport {
  /// Variables that the file does not name, which got their initializer's values.
  std::vector<std::string> notInFile;
  /// Tensors of the file that name no variable.
  std::vector<std::string> notInPackage;
};

/// The cost of every instruction of a step in seconds of CPU time, by rank, in the rank's order of execution.
struct StepProfile {
  std::vector<std::vector<double>> seconds;
};

/// Memory of a rank, in bytes.
struct RankMemory {
  uint64_t persistent = 0, arena = 0; ///< of the device; the one is a part of the other
  uint64_t hostArena = 0;
  uint64_t scratch = 0; ///< of libraries and kernels
};

/// The scalars and costs that were read of a step, on the first process.
struct StepReading {
  /// In the order of the names; nothing where no value of one element is called so, or the step did not say what it is.
  std::vector<std::optional<double>> scalars;
  /// The step's position in its accumulation, and whether it is the last one.
  uint32_t position = 0;
  bool isUpdate = false;
  StepCosts costs;
};

/// A value of a session and the array that is to hold it whole.
struct Gathered {
  const ValueSet *set;
  size_t index;
  std::span<std::byte> whole;
};

class Session {
public:
  /// Starts a thread per rank of this process and prepares its program there. The package outlives the session.
  static Result<std::unique_ptr<Session>> create(const LoadedPackage &package, const SessionOptions &options);
  ~Session();

  /// The number of ranks of all processes; the ranks of this one.
  int64_t getNumRanks() const;
  RankRange getRanks() const;
  World &getWorld() const;
  /// The mesh of the programs that run: of the package, or without axes.
  const Mesh &getMesh() const;
  const LoadedPackage &getPackage() const;
  const SessionOptions &getOptions() const;
  const std::string &getTarget() const;
  /// The program of any rank.
  const Program &getProgram(int64_t rank) const;
  /// That of a rank of this process.
  const Executor &getExecutor(int64_t rank) const;
  /// That of any rank.
  const RankMemory &getMemory(int64_t rank) const;
  const ValueSet &getVariables() const;
  const ValueSet &getInputs() const;
  const ValueSet &getOutputs() const;

  /// Gives every variable its first value, on each rank its part only: from `file` where it names the variable, else
  /// from the initializer. Ranks that hold the same part compute a share of it each and copy the others'.
  Result<InitialReport> initialize(const SafeTensors *file, uint64_t seed);
  /// The same with tensors of any origin, which messages call `origin`; an empty origin stands for none.
  Result<InitialReport> initialize(const std::map<std::string, TensorView> &tensors, const std::string &origin,
                                   uint64_t seed);
  /// Copies a whole array, which every process has, into the ranks' arrays of a value. Types and sizes are equal. Of a
  /// sum over axes the first addend is the value and the others zero.
  void scatter(const ValueSet &set, size_t i, std::span<const std::byte> whole);
  /// A caller pulls a rank's array before it reads the array directly, and notes after it has written arrays: those of
  /// GPUs are copies in the host's memory.
  Status pull(const ValueSet &set, size_t i, int64_t rank) const;
  void noteWritten(const ValueSet &set, size_t i);
  /// Copies the ranks' arrays into a whole one, each part from the first rank that holds it. Of a sum over axes the
  /// addends are added in the order of their coordinates. On the first process; on the others the array stays as it is.
  Status gather(const ValueSet &set, size_t i, std::span<std::byte> whole) const;
  /// The same for several values, in one exchange.
  Status gather(std::span<const Gathered> values) const;
  /// Checks that ranks that hold the same part of a value agree bit for bit; the error names both, and the element
  /// where they are of one process.
  Status checkReplicas(const ValueSet &set, size_t i) const;

  /// Calls work(rank) on the thread of every rank, between steps; the first error of a rank is that of all, on all
  /// processes.
  Status forEachRank(const std::function<Status(int64_t)> &work);

  /// The steps that were run since the last update: the position in the accumulation of the next step.
  uint32_t getAccumulationPosition() const;
  /// Goes on at a position below the package's number of accumulated steps.
  void setAccumulationPosition(uint32_t position);
  /// True if variable i is an accumulator whose value is not needed now: no gradient accumulation is under way.
  bool isIdle(size_t i) const;
  /// True if the last step was the last one of a gradient accumulation.
  bool isUpdated() const { return getAccumulationPosition() == 0; }
  /// True if the last step computed output i.
  bool isKnown(size_t i) const;

  /// Lets every step from now on keep the scalars of these names, for `readStep`. Once.
  Status prepareReadings(std::span<const std::string> names);
  /// Runs one step on all ranks, and goes on to the next position in the accumulation. An error is that of a rank of
  /// this process; those of others come with what they leave undone. GPUs may still be at it, and at no step before the
  /// one before it, if that was read.
  Status step();
  /// Lets the ranks of this process leave the step that they run, before their next instruction, with an error. From
  /// any thread; between steps it does nothing. Variables have any values then.
  void interrupt();
  /// True if steps return while devices still execute them.
  bool runsAhead() const;
  /// The number of steps that were run and not read, two at most: a third one drops the oldest.
  size_t getNumUnread() const;
  /// Waits until the oldest unread step is over, but not for the next one, and reads it.
  Result<StepReading> readStep();
  /// Before steps that follow on those of the session beside which this one runs: writes constants again, and takes the
  /// variables to be what they have become.
  Status resume();
  /// Waits until the devices of this process have done all steps: GPUs may still be at them.
  Status synchronize();
  /// The same, noting what the ranks of this process did and when, in their order.
  Result<std::vector<RankTrace>> traceStep();
  /// Runs the step at a position of an accumulation once to warm up and then `steps` times to measure it: the median of
  /// each instruction. No link delays them. Variables change as in any step; the position does not. In a run of one
  /// process.
  Result<StepProfile> profile(uint32_t position, int steps);
  /// The best rates of the devices of this process with the types of the program's products, measured on all of them at
  /// once: means over the ranks. Zeros for a kind that cannot tell.
  Result<DeviceRates> measureRates();
  /// The seconds that an instruction of a rank of this process takes when nothing but it runs, or nothing; see
  /// `Executor::measureAlone`. Between steps.
  Result<std::optional<double>> measureAlone(int64_t rank, const Instruction &instruction);

private:
  struct Implementation;
  explicit Session(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> implementation;
};

} // namespace meshwright::runtime

#endif
