//===- Program.h - a program whose structure has been checked ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The structure that all proofs share: a program whose references, sizes and schedule have been checked, so that
// proofs can index without checks. A program whose structure is wrong gets findings and is not followed further.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_VERIFY_LIB_PROGRAM_H
#define MESHWRIGHT_VERIFY_LIB_PROGRAM_H

#include "Access.h"
#include "meshwright/verify/Verify.h"
#include <map>
#include <optional>
#include <set>

namespace meshwright::verify {

/// The sizes of the axes, and where ranks are on them; the first axis is the slowest.
class Ranks {
public:
  /// Without axes there is one rank. The caller has checked that the product is a number of ranks.
  explicit Ranks(std::vector<int64_t> sizes = {});

  int64_t count() const { return numRanks; }
  size_t numAxes() const { return sizes.size(); }
  int64_t getSize(uint32_t axis) const { return sizes[axis]; }
  /// The number of members of a group over some axes.
  uint64_t countMembers(const google::protobuf::RepeatedField<uint32_t> &axes) const;
  /// The first member of the group of a rank, and the rank's number among the members; the first axis is the slowest.
  std::pair<int64_t, uint64_t> locate(int64_t rank, const google::protobuf::RepeatedField<uint32_t> &axes) const;
  /// All members of the group whose first one is given.
  std::vector<int64_t> listMembers(int64_t first, const google::protobuf::RepeatedField<uint32_t> &axes) const;

private:
  std::vector<int64_t> sizes, strides;
  int64_t numRanks = 1;
};

/// Ascending numbers as text: `0-3, 6`.
std::string formatRanks(const std::vector<int64_t> &ranks);

/// Collects findings up to a bound, and counts all.
class Findings {
public:
  Findings(Report &report, size_t most) : report(report), most(most) {}
  void add(Property property, Where where, std::string message);
  uint64_t count() const { return report.numFindings; }

private:
  Report &report;
  size_t most;
};

/// An instruction of a task with what it touches.
struct CheckedInstruction {
  std::vector<Access> accesses;
  int loop = -1; ///< of an EndLoop: the number of its Loop
};

/// A program, the package around it, and what has been found out about both.
struct CheckedProgram {
  const Program *program = nullptr;
  const Package *package = nullptr;
  const Ranks *mesh = nullptr;
  std::string name, ranksText;
  std::vector<int64_t> ranks;
  bool isSerial = false;
  uint32_t microBatches = 1, accumulationSteps = 1;
  /// By task and instruction.
  std::vector<std::vector<CheckedInstruction>> tasks;
  /// One more than the largest tag of the package: what tags of further iterations are counted by.
  uint64_t numTags = 1;

  const Buffer &getBuffer(uint32_t index) const { return program->buffers(static_cast<int>(index)); }
};

/// An instruction that is executed.
struct Executed {
  const ScheduleItem *item;
  uint32_t itemNumber; ///< of those that the step runs
  uint32_t task;
  int index;
  const Instruction *instruction;
  const CheckedInstruction *checked;
  /// The numbers of the iterations of the loops around it, the outermost first; iterations of them that came before;
  /// those of all.
  const std::vector<uint64_t> *iterations;
  uint64_t before = 0;
};

/// Addresses of the host's arena come after all those of the device's arena.
constexpr uint64_t hostBase = uint64_t(1) << 61;

/// The address at which a buffer begins, for an instruction that is executed.
uint64_t getAddress(const CheckedProgram &program, uint32_t buffer, const Executed &executed);
/// The address at which a buffer with one place begins.
uint64_t getAddress(const Buffer &buffer);
inline Range shift(Range range, uint64_t by) { return {range.begin + by, range.end + by}; }

/// The position of an instruction, for findings.
Where getWhere(const CheckedProgram &program, uint32_t position, const Executed &executed);
Where getWhere(const CheckedProgram &program, uint32_t position);

inline bool runsAt(const ScheduleItem &item, uint32_t position) {
  return item.first_step() <= position && position < item.end_step();
}

/// Calls fn(executed) for what a step at a position of an accumulation executes, in order; loops are gone through.
template <typename Fn> void forEachExecuted(const CheckedProgram &program, uint32_t position, Fn &&fn) {
  struct Iteration {
    uint64_t count, done;
    bool reverse;
    int first;
  };
  uint32_t number = 0;
  std::vector<uint64_t> numbers;
  for (const ScheduleItem &item : program.program->schedule()) {
    if (!runsAt(item, position))
      continue;
    const Task &task = program.program->tasks(static_cast<int>(item.task()));
    std::vector<Iteration> iterations;
    auto setNumber = [&] {
      const Iteration &iteration = iterations.back();
      numbers.back() = iteration.reverse ? iteration.count - 1 - iteration.done : iteration.done;
    };
    for (int i = 0; i != task.instructions_size(); ++i) {
      const Instruction &instruction = task.instructions(i);
      if (instruction.has_loop()) {
        iterations.push_back({instruction.loop().count(), 0, instruction.loop().reverse(), i});
        numbers.push_back(0);
        setNumber();
      } else if (instruction.has_end_loop()) {
        if (++iterations.back().done == iterations.back().count) {
          iterations.pop_back();
          numbers.pop_back();
        } else {
          i = iterations.back().first;
          setNumber();
        }
      } else {
        uint64_t before = 0;
        for (const Iteration &iteration : iterations)
          before = before * iteration.count + iteration.done;
        fn(Executed{&item, number, item.task(), i, &instruction, &program.tasks[item.task()][static_cast<size_t>(i)],
                    &numbers, before});
      }
    }
    ++number;
  }
}

/// Finds the start that a Wait refers to: one of its own task, or of the one action that leaves it to other actions.
class FlightNames {
public:
  /// The task, or an action above all tasks; the tag with that of the iteration; the micro-batch.
  struct Name {
    uint64_t owner, tag;
    uint32_t microBatch;
    auto operator<=>(const Name &) const = default;
  };
  explicit FlightNames(const CheckedProgram &program);
  Name getStarted(const Executed &executed) const;
  /// Nothing where there is not exactly one action, or no start at all.
  std::optional<Name> findWaited(const Executed &executed) const;

private:
  uint64_t getTag(uint32_t tag, const Executed &executed) const { return tag + executed.before * numTags; }

  const CheckedProgram &program;
  uint64_t numTags;
  /// Tasks with the tags that they start and wait for; actions that leave a tag to others.
  std::set<std::pair<uint32_t, uint32_t>> own;
  std::map<uint32_t, std::set<uint32_t>> left;
};

// The parts of the proof. Each adds its findings.

/// Fills in the rest of a program that has its package, mesh and ranks. False where it cannot be followed.
bool checkStructure(CheckedProgram &program, uint64_t constantsBytes, Findings &findings);
/// The positions of an accumulation at which one program or another begins to run other items; the first is 0. Empty
/// where they are too many to be followed.
std::vector<uint32_t> listVariants(const Package &package);
/// Property::Definition, and the peaks, over one step of each variant.
void checkDefinitions(const CheckedProgram &program, const std::vector<uint32_t> &variants, ProgramReport &report,
                      Findings &findings);
/// Property::Flight. False where waits mean nothing, so that the order cannot be followed either.
bool checkFlights(const CheckedProgram &program, const std::vector<uint32_t> &variants, ProgramReport &report,
                  Findings &findings);
/// Property::Order. The programs are those of all ranks, in the package's order.
void checkOrder(const Package &package, const Ranks &mesh, const std::vector<CheckedProgram> &programs,
                const std::vector<uint32_t> &variants, Report &report, Findings &findings);
/// That an evaluation touches nothing that training keeps. Both are programs of the same ranks.
void checkEvaluation(const CheckedProgram &trained, const CheckedProgram &evaluated, Findings &findings);

} // namespace meshwright::verify

#endif
