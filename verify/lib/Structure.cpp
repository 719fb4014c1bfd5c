//===- Structure.cpp - whether a program can be followed ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Indices name something, ranges lie in their arenas, loops end, and a step does every action for each of its
// micro-batches. The other parts of the proof rely on it.
//
//===----------------------------------------------------------------------===//

#include "Program.h"
#include <algorithm>
#include <fmt/format.h>

using namespace meshwright;
using namespace meshwright::verify;

/// A small package could otherwise keep its reader busy for days.
static constexpr uint64_t maxExecuted = 4'000'000;
static constexpr uint64_t maxRuns = uint64_t(1) << 20;
static constexpr uint64_t maxArenaBytes = uint64_t(1) << 60;
static constexpr size_t maxVariants = 64;

namespace {

class StructureChecker {
public:
  StructureChecker(CheckedProgram &program, uint64_t constantsBytes, Findings &findings)
      : checked(program), program(*program.program), constantsBytes(constantsBytes), findings(findings) {}

  bool check() {
    uint64_t before = findings.count();
    if (program.arena_bytes() > maxArenaBytes || program.host_arena_bytes() > maxArenaBytes ||
        program.persistent_bytes() > program.arena_bytes())
      fail("the arenas of {} and {} bytes, {} of them persistent, make no sense", program.arena_bytes(),
           program.host_arena_bytes(), program.persistent_bytes());
    for (int i = 0; i != program.buffers_size(); ++i)
      checkBuffer(i);
    if (findings.count() != before)
      return false;
    checkPlaces();
    checkPersistent();
    for (int task = 0; task != program.tasks_size(); ++task)
      checkTask(task);
    if (findings.count() == before)
      checkSchedule();
    return findings.count() == before;
  }

private:
  template <typename... Args> void fail(fmt::format_string<Args...> format, Args &&...args) {
    findings.add(Property::Structure, where, fmt::format(format, std::forward<Args>(args)...));
  }

  void checkBuffer(int index) {
    const Buffer &buffer = program.buffers(index);
    uint64_t arena = buffer.memory() == HOST ? program.host_arena_bytes() : program.arena_bytes(), bytes = 0;
    if (!Memory_IsValid(buffer.memory()))
      return fail("buffer {} is in memory {}, which is unknown", index, static_cast<int>(buffer.memory()));
    if (!countBytes(buffer.shape(), buffer.dtype(), bytes) || bytes > buffer.bytes())
      return fail("the array of buffer {} does not fit its {} bytes", index, buffer.bytes());
    if (buffer.offset() % getElementBytes(buffer.dtype()) != 0)
      return fail("buffer {} begins at {}, no multiple of the {} bytes of an element", index, buffer.offset(),
                  getElementBytes(buffer.dtype()));
    uint64_t extent = 0;
    if (buffer.slots() > std::max(checked.microBatches, 1u))
      return fail("buffer {} has {} slots for {} micro-batches", index, buffer.slots(), checked.microBatches);
    if (buffer.slots() > 1 && (buffer.slot_bytes() < buffer.bytes() ||
                               __builtin_mul_overflow(buffer.slots() - 1, buffer.slot_bytes(), &extent)))
      return fail("the {} slots of buffer {}, {} bytes apart, do not hold its {} bytes", buffer.slots(), index,
                  buffer.slot_bytes(), buffer.bytes());
    if (!fits(buffer, extent, arena))
      return fail("buffer {}, {} bytes at {}, does not lie in the arena of {} bytes", index, buffer.bytes(),
                  buffer.offset(), arena);
    if (buffer.slots() != 0 && (buffer.memory() == HOST || buffer.offset() < program.persistent_bytes()))
      fail("buffer {} has {} slots in the persistent part of an arena", index, buffer.slots());
  }

  /// Returns true if the buffer lies in the arena after a move by `moved` bytes.
  static bool fits(const Buffer &buffer, uint64_t moved, uint64_t arena) {
    uint64_t end;
    return !__builtin_add_overflow(buffer.offset(), buffer.bytes(), &end) &&
           !__builtin_add_overflow(end, moved, &end) && end <= arena;
  }

  bool exists(int64_t index) const { return index >= 0 && index < program.buffers_size(); }

  template <typename Places> void checkPlaces(const Places &places, int count, const char *what) {
    if (places.size() != count)
      return fail("the program gives places to {} {}s where the package has {}", places.size(), what, count);
    for (int i = 0; i != places.size(); ++i) {
      if (places[i] == -1)
        continue;
      if (!exists(places[i]))
        fail("{} {} is in buffer {} where the program has {}", what, i, places[i], program.buffers_size());
      else if (program.buffers(places[i]).slots() != 0 || program.buffers(places[i]).iteration_bytes_size() != 0)
        fail("{} {} is in buffer {}, which has several places", what, i, places[i]);
      else if (what[0] != 'v' && program.buffers(places[i]).memory() == HOST)
        fail("{} {} is in buffer {}, in the memory of the host", what, i, places[i]);
    }
  }

  void checkPlaces() {
    checkPlaces(program.variable_buffers(), checked.package->variables_size(), "variable");
    checkPlaces(program.input_buffers(), checked.package->inputs_size(), "input");
    checkPlaces(program.output_buffers(), checked.package->outputs_size(), "output");
    for (const Constant &constant : program.constants()) {
      if (!exists(constant.buffer())) {
        fail("a constant is in buffer {} where the program has {}", constant.buffer(), program.buffers_size());
        continue;
      }
      const Buffer &buffer = program.buffers(static_cast<int>(constant.buffer()));
      uint64_t bytes = 0, end;
      countBytes(buffer.shape(), buffer.dtype(), bytes);
      if (buffer.slots() != 0 || buffer.iteration_bytes_size() != 0 || buffer.memory() == HOST)
        fail("a constant is in buffer {}, which has several places or is the host's", constant.buffer());
      if (bytes != 0 && (__builtin_add_overflow(constant.file_offset(), bytes, &end) || end > constantsBytes))
        fail("a constant has {} bytes at {} of constants.bin, which has {}", bytes, constant.file_offset(),
             constantsBytes);
    }
  }

  /// Variables and constants have places apart, in the persistent part.
  void checkPersistent() {
    std::vector<std::pair<Range, int>> kept;
    auto add = [&](int index) {
      const Buffer &buffer = program.buffers(index);
      uint64_t begin = getAddress(buffer);
      if (buffer.bytes() != 0)
        kept.push_back({{begin, begin + buffer.bytes()}, index});
      if (buffer.memory() == DEVICE && buffer.offset() + buffer.bytes() > program.persistent_bytes())
        fail("buffer {} of a variable or constant ends at {}, after the {} persistent bytes", index,
             buffer.offset() + buffer.bytes(), program.persistent_bytes());
    };
    for (int32_t index : program.variable_buffers())
      if (exists(index))
        add(index);
    for (const Constant &constant : program.constants())
      if (exists(constant.buffer()))
        add(static_cast<int>(constant.buffer()));
    std::sort(kept.begin(), kept.end(), [](const auto &a, const auto &b) { return a.first.begin < b.first.begin; });
    for (size_t i = 1; i < kept.size(); ++i)
      if (kept[i].first.begin < kept[i - 1].first.end)
        fail("buffers {} and {} of variables or constants overlap", kept[i - 1].second, kept[i].second);
  }

  void checkTask(int number) {
    const Task &task = program.tasks(number);
    where.task = task.name();
    if (!Task::Runs_IsValid(task.runs()))
      fail("the task is done for micro-batches of kind {}, which is unknown", static_cast<int>(task.runs()));
    std::vector<CheckedInstruction> &instructions =
        checked.tasks.emplace_back(static_cast<size_t>(task.instructions_size()));
    std::vector<int> loops;
    std::vector<uint64_t> counts = {1};
    uint64_t executed = 0;
    for (int i = 0; i != task.instructions_size(); ++i) {
      const Instruction &instruction = task.instructions(i);
      where.instruction = i;
      where.name = instruction.name();
      where.location = instruction.location();
      executed = std::min(executed + counts.back(), maxExecuted + 1);
      if (instruction.has_loop()) {
        uint64_t times;
        if (instruction.loop().count() == 0 ||
            __builtin_mul_overflow(counts.back(), instruction.loop().count(), &times) || times > maxExecuted)
          return fail("the loop has {} iterations, where {} in all can be followed", instruction.loop().count(),
                      maxExecuted);
        loops.push_back(i);
        counts.push_back(times);
      } else if (instruction.has_end_loop()) {
        if (loops.empty())
          return fail("a loop ends where none has begun");
        instructions[static_cast<size_t>(i)].loop = loops.back();
        loops.pop_back();
        counts.pop_back();
      } else {
        checkInstruction(task, instruction, loops, instructions[static_cast<size_t>(i)]);
        // A result in many runs is as much to follow as that many results.
        for (const Access &access : instructions[static_cast<size_t>(i)].accesses)
          if (access.isWrite && access.countRuns() > 1)
            executed = access.countRuns() > maxRuns
                           ? maxExecuted + 1
                           : std::min(executed + counts.back() * access.countRuns() / 16, maxExecuted + 1);
      }
    }
    if (!loops.empty())
      fail("{} loops do not end", loops.size());
    executedByTask.push_back(executed);
    where = getWhere(checked, 0);
  }

  void checkInstruction(const Task &task, const Instruction &instruction, const std::vector<int> &loops,
                        CheckedInstruction &result) {
    uint64_t before = findings.count();
    forEachBuffer(instruction, [&](uint32_t index) { checkNamed(task, index, instruction, loops); });
    if (findings.count() != before)
      return;
    uint64_t members = 1;
    if (instruction.has_collective() && !checkCollective(instruction.collective(), members))
      return;
    if (instruction.has_coordinate() && instruction.coordinate().axis() >= checked.mesh->numAxes())
      return fail("the coordinate is of axis {} of {}", instruction.coordinate().axis(), checked.mesh->numAxes());
    if (instruction.copy().start() && program.buffers(static_cast<int>(instruction.copy().from())).memory() ==
                                          program.buffers(static_cast<int>(instruction.copy().to())).memory())
      return fail("the copy is started, but both buffers are in one memory");
    if (std::string error = listAccesses(program, instruction, members, result.accesses); !error.empty())
      return fail("{}", error);
    for (const Access &access : result.accesses)
      if (access.isWrite && access.countRuns() > maxRuns)
        fail("the result has {} separate runs of bytes, more than {}", access.countRuns(), maxRuns);
  }

  /// A buffer that an instruction in these loops names.
  void checkNamed(const Task &task, uint32_t index, const Instruction &instruction, const std::vector<int> &loops) {
    if (!exists(index))
      return fail("names buffer {} where the program has {}", index, program.buffers_size());
    const Buffer &buffer = program.buffers(static_cast<int>(index));
    if (buffer.memory() == HOST && !instruction.has_copy())
      return fail("names buffer {} in the memory of the host, which only copies reach", index);
    if (static_cast<size_t>(buffer.iteration_bytes_size()) > loops.size())
      return fail("buffer {} moves with {} loops where {} are around", index, buffer.iteration_bytes_size(),
                  loops.size());
    uint64_t moved = buffer.slots() > 1 ? (buffer.slots() - 1) * buffer.slot_bytes() : 0, by;
    for (int i = 0; i != buffer.iteration_bytes_size(); ++i)
      if (__builtin_mul_overflow(buffer.iteration_bytes(i),
                                 task.instructions(loops[static_cast<size_t>(i)]).loop().count() - 1, &by) ||
          __builtin_add_overflow(moved, by, &moved))
        return fail("buffer {} moves by more bytes than there are", index);
    uint64_t arena = buffer.memory() == HOST ? program.host_arena_bytes() : program.arena_bytes();
    if (!fits(buffer, moved, arena))
      fail("buffer {}, {} bytes at {}, moves by {} and does not stay in the arena of {} bytes", index, buffer.bytes(),
           buffer.offset(), moved, arena);
  }

  bool checkCollective(const Collective &collective, uint64_t &members) {
    uint64_t before = findings.count();
    std::set<uint32_t> seen;
    for (uint32_t axis : collective.axes())
      if (axis >= checked.mesh->numAxes() || !seen.insert(axis).second)
        fail("the group has axis {} twice, or the mesh has {}", axis, checked.mesh->numAxes());
    if (findings.count() != before)
      return false;
    members = checked.mesh->countMembers(collective.axes());
    if (!Collective::Kind_IsValid(collective.kind()) || !Collective::Reduction_IsValid(collective.reduction()))
      fail("collective kind {} with reduction {} is unknown", static_cast<int>(collective.kind()),
           static_cast<int>(collective.reduction()));
    else if (collective.parts().empty())
      fail("the collective has no parts");
    else if (collective.kind() == Collective::SEND &&
             (collective.to() >= members || collective.to() == collective.parts(0).root()))
      fail("member {} of {} sends to member {}", collective.parts(0).root(), members, collective.to());
    else
      for (const CollectivePart &part : collective.parts())
        if (isRooted(collective.kind()) && (part.root() >= members || (collective.kind() == Collective::SEND &&
                                                                       part.root() != collective.parts(0).root())))
          fail("part \"{}\" has member {} of {} as root", part.name(), part.root(), members);
    return findings.count() == before;
  }

  /// Every action that a step does is done for each of its micro-batches, in their order.
  void checkSchedule() {
    uint64_t executed = 0;
    for (const ScheduleItem &item : program.schedule()) {
      if (item.task() >= static_cast<uint32_t>(program.tasks_size()) || item.micro_batch() >= checked.microBatches ||
          item.first_step() >= item.end_step() || item.end_step() > checked.accumulationSteps)
        return fail("the schedule runs task {} for micro-batch {} in the steps [{}, {}), where there are {}, {} and {}",
                    item.task(), item.micro_batch(), item.first_step(), item.end_step(), program.tasks_size(),
                    checked.microBatches, checked.accumulationSteps);
      executed += executedByTask[item.task()];
      if (executed > maxExecuted)
        return fail("a step executes more than {} instructions", maxExecuted);
    }
    if (program.schedule().empty())
      return;
    for (uint32_t position : listVariants(*checked.package))
      checkStep(position);
  }

  void checkStep(uint32_t position) {
    struct Action {
      uint32_t next, end;
    };
    std::map<uint32_t, Action> actions;
    where = getWhere(checked, position);
    for (const ScheduleItem &item : program.schedule()) {
      if (!runsAt(item, position))
        continue;
      const Task &task = program.tasks(static_cast<int>(item.task()));
      Action all{task.runs() == Task::LAST ? checked.microBatches - 1 : 0,
                 task.runs() == Task::FIRST ? 1 : checked.microBatches};
      Action &action = actions.try_emplace(task.action(), all).first->second;
      if (item.micro_batch() != action.next || action.next >= action.end || all.end != action.end)
        return fail("task \"{}\" is done for micro-batch {} where {} of {} is next", task.name(), item.micro_batch(),
                    action.next, action.end);
      ++action.next;
    }
    if (actions.empty())
      fail("the step does nothing");
    for (const auto &[number, action] : actions)
      if (action.next != action.end && !(checked.isSerial && action.next == 1))
        fail("action {} is done for {} of {} micro-batches", number, action.next, action.end);
  }

  CheckedProgram &checked;
  const Program &program;
  uint64_t constantsBytes;
  Findings &findings;
  Where where = getWhere(checked, 0);
  /// Instructions with those of further iterations.
  std::vector<uint64_t> executedByTask;
};

} // namespace

std::vector<uint32_t> verify::listVariants(const Package &package) {
  std::set<uint32_t> cuts = {0};
  auto add = [&](const Program &program) {
    for (const ScheduleItem &item : program.schedule())
      for (uint32_t cut : {item.first_step(), item.end_step()})
        if (cut < std::max(package.accumulation_steps(), 1u) && cuts.size() <= maxVariants)
          cuts.insert(cut);
  };
  for (const Program &program : package.programs())
    add(program);
  if (package.has_serial())
    add(package.serial());
  return cuts.size() > maxVariants ? std::vector<uint32_t>() : std::vector<uint32_t>(cuts.begin(), cuts.end());
}

bool verify::checkStructure(CheckedProgram &program, uint64_t constantsBytes, Findings &findings) {
  return StructureChecker(program, constantsBytes, findings).check();
}
