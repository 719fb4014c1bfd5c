//===- Session.h - a package while it runs ----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All ranks of the distributed programs, or the one of the serial program, with the values that go in and come out as
// whole arrays of the host.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_SESSION_H
#define MESHWRIGHT_RUNTIME_SESSION_H

#include "meshwright/runtime/Executor.h"
#include "meshwright/runtime/SafeTensors.h"
#include <functional>

namespace meshwright::runtime {

struct SessionOptions {
  /// Run the serial program instead of the distributed ones.
  bool serial = false;
  /// The target whose kernels are loaded; empty for the first that the CPU can run.
  std::string target;
  /// Threads of libraries per rank.
  int threads = 1;
  /// A link that the collectives of the distributed programs are delayed by.
  std::optional<LinkModel> link;
  /// The link between device and host, in each direction, that their copies are delayed by.
  std::optional<LinkModel> hostLink = {};
  /// Counts the allocations of the calling thread so far; null where nobody counts.
  uint64_t (*countAllocations)() = nullptr;
};

/// Variables, inputs or outputs of a session: each is an array of the host, spread over the ranks.
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
  /// The array of a rank; empty where it holds none.
  std::span<std::byte> getArray(size_t i, int64_t rank) const { return values[i].arrays[rank]; }
  /// Whether a rank holds a part that no rank before it holds.
  bool isFirstHolder(size_t i, int64_t rank) const;

private:
  friend class Session;
  struct Value {
    std::string name;
    DType type;
    const Layout *layout;
    struct Part {
      LocalPart elements;
      /// Which of the addends it is, of a value that is a sum over axes.
      uint64_t addend;
    };
    /// The different parts, and for every rank which of them it has and its array there (empty where it holds none).
    std::vector<Part> parts;
    std::vector<uint32_t> partOfRank;
    std::vector<std::span<std::byte>> arrays;
    /// For every part the ranks that hold it; they ascend.
    std::vector<std::vector<int64_t>> holders;
  };
  std::vector<Value> values;
};

/// What `initialize` found that the user may want to know.
struct InitialReport {
  /// Variables that the file does not name, which got their initializer's values.
  std::vector<std::string> notInFile;
  /// Tensors of the file that name no variable.
  std::vector<std::string> notInPackage;
};

/// What every instruction of a step costs, by rank, in the order in which the rank executes them: seconds of CPU time.
struct StepProfile {
  std::vector<std::vector<double>> seconds;
};

class Session {
public:
  /// Starts a thread per rank and prepares its program there. The package outlives the session.
  static Result<std::unique_ptr<Session>> create(const LoadedPackage &package, const SessionOptions &options);
  ~Session();

  int64_t getNumRanks() const;
  /// The mesh of the programs that run: of the package, or without axes.
  const Mesh &getMesh() const;
  const LoadedPackage &getPackage() const;
  const SessionOptions &getOptions() const;
  const std::string &getTarget() const;
  const Executor &getExecutor(int64_t rank) const;
  const ValueSet &getVariables() const;
  const ValueSet &getInputs() const;
  const ValueSet &getOutputs() const;

  /// Gives every variable its first value, on each rank its part only: from `file` where it names the variable, else
  /// from the initializer. Ranks that hold the same part compute a share of it each and copy the others'.
  Result<InitialReport> initialize(const SafeTensors *file, uint64_t seed);
  /// Copies a whole array into the ranks' arrays of a value. Types and sizes are equal. Of a sum over axes the first
  /// addend is the value and the others zero.
  void scatter(const ValueSet &set, size_t i, std::span<const std::byte> whole);
  /// Copies the ranks' arrays into a whole one, each part from the first rank that holds it. Of a sum over axes the
  /// addends are added in the order of their coordinates.
  void gather(const ValueSet &set, size_t i, std::span<std::byte> whole) const;
  /// Checks that ranks that hold the same part of a value agree bit for bit; the error names both and the element.
  Status checkReplicas(const ValueSet &set, size_t i) const;

  /// Calls work(rank) on the thread of every rank, between steps; the first error of a rank is that of all.
  Status forEachRank(const std::function<Status(int64_t)> &work);

  /// The steps that were run since the last update: the position in the merge of the next step.
  uint32_t getMergePosition() const;
  /// Goes on at a position below the package's number of merged steps.
  void setMergePosition(uint32_t position);
  /// Whether variable i is an accumulator of which nothing is needed now: no merge is under way.
  bool isIdle(size_t i) const;
  /// Whether the last step was the last one of a merge.
  bool isUpdated() const { return getMergePosition() == 0; }
  /// Whether the last step said what output i is.
  bool isKnown(size_t i) const;

  /// Runs one step on all ranks, and goes on to the next position in the merge.
  Status step();
  /// Runs the step at a position of a merge once to warm up and then `steps` times to measure it: the median of each
  /// instruction. No link delays them. Variables change as in any step; the position does not.
  Result<StepProfile> profile(uint32_t position, int steps);
  /// Allocations of all ranks in the last step.
  AllocationCount getStepAllocations() const;

private:
  struct Implementation;
  explicit Session(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> implementation;
};

} // namespace meshwright::runtime

#endif
