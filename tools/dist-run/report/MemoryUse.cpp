//===- MemoryUse.cpp - what a rank's memory holds -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Walks through a step of one program with the lifetimes of its buffers, finds the moment at which most bytes are
// live, and says by which values: parameters, state, activations, communication.
//
//===----------------------------------------------------------------------===//

#include "MemoryUse.h"
#include "meshwright/runtime/Slots.h"
#include <algorithm>
#include <map>
#include <set>

using namespace meshwright;
using namespace meshwright::tool;
using meshwright::runtime::forEachAccess;

std::string_view meshwright::tool::getName(MemoryClass kind) {
  switch (kind) {
  case MemoryClass::Parameters:
    return "parameters";
  case MemoryClass::State:
    return "optimizer state";
  case MemoryClass::Buffers:
    return "buffers and accumulators";
  case MemoryClass::Constants:
    return "constants";
  case MemoryClass::Gradients:
    return "gradients";
  case MemoryClass::Fetched:
    return "fetched parameters";
  case MemoryClass::Activations:
    return "activations and others";
  case MemoryClass::Free:
    return "free at the busiest moment";
  }
  return "memory of an unknown class";
}

namespace {

uint64_t &at(MemoryUse &use, MemoryClass kind) { return use[static_cast<size_t>(kind)]; }

MemoryClass getClass(Variable::Kind kind) {
  switch (kind) {
  case Variable::PARAMETER:
    return MemoryClass::Parameters;
  case Variable::OPTIMIZER_STATE:
  case Variable::COUNTER:
    return MemoryClass::State;
  default:
    return MemoryClass::Buffers;
  }
}

/// Finds the busiest moment of one program.
class Moment {
public:
  explicit Moment(const Program &program) : program(program) {
    findBetween();
    for (const Task &task : program.tasks())
      addTask(task);
  }

  /// Adds to `use` what is alive then.
  void addTo(MemoryUse &use) const {
    for (auto [kind, bytes] : busiest)
      at(use, kind) += bytes;
  }

private:
  struct Range {
    uint64_t begin, end;
    MemoryClass kind;
  };
  struct Life {
    int first, last;
  };

  /// Values that one action leaves to another count as alive all the time, with all their slots.
  void findBetween() {
    std::map<uint32_t, uint32_t> actions;
    for (const Task &task : program.tasks())
      for (const Instruction &instruction : task.instructions())
        forEachAccess(instruction, [&](uint32_t buffer, bool) {
          const Buffer &place = program.buffers(static_cast<int>(buffer));
          bool isOther = actions.try_emplace(buffer, task.action()).first->second != task.action();
          if (isOwn(place) && (isOther || place.slots() > 0))
            between.insert(buffer);
        });
  }

  /// Returns true if a buffer is the step's own.
  bool isOwn(const Buffer &buffer) const {
    return buffer.memory() == DEVICE && buffer.offset() >= program.persistent_bytes();
  }

  void addTask(const Task &task) {
    std::map<uint32_t, Life> lives = findLives(task);
    // A buffer that ends where another begins may share its place, so that the end does not count here.
    std::vector<int64_t> change(task.instructions_size() + 1);
    for (auto [buffer, life] : lives) {
      auto bytes = static_cast<int64_t>(program.buffers(static_cast<int>(buffer)).bytes());
      change[life.first] += bytes;
      change[std::max(life.first + 1, life.last)] -= bytes;
    }
    int64_t alive = 0, most = -1;
    int where = 0;
    for (int index = 0; index != task.instructions_size(); ++index)
      if ((alive += change[index]) > most) {
        most = alive;
        where = index;
      }
    consider(lives, where);
  }

  /// The first and the last instruction that names a buffer of the step's own.
  std::map<uint32_t, Life> findLives(const Task &task) {
    std::map<uint32_t, Life> lives;
    std::map<uint32_t, const Instruction *> started, copied;
    for (int index = 0; index != task.instructions_size(); ++index) {
      auto touch = [&](uint32_t buffer, bool) {
        if (!isOwn(program.buffers(static_cast<int>(buffer))) || between.contains(buffer))
          return;
        lives.try_emplace(buffer, Life{index, index}).first->second.last = index;
      };
      const Instruction &instruction = task.instructions(index);
      forEachAccess(instruction, touch);
      if (instruction.has_collective() && instruction.collective().start())
        started[instruction.collective().tag()] = &instruction;
      if (auto found = started.find(instruction.wait().tag()); instruction.has_wait() && found != started.end())
        forEachAccess(*found->second, touch);
      if (instruction.copy().start())
        copied[instruction.copy().tag()] = &instruction;
      if (instruction.has_copy_wait())
        forEachAccess(*copied.at(instruction.copy_wait().tag()), touch);
    }
    return lives;
  }

  MemoryClass classify(uint32_t buffer) const {
    switch (program.buffers(static_cast<int>(buffer)).content()) {
    case Buffer::GRADIENT:
      return MemoryClass::Gradients;
    case Buffer::FETCHED:
      return MemoryClass::Fetched;
    default:
      return MemoryClass::Activations;
    }
  }

  /// The bytes that are alive at an instruction, each once, if they are more than those of the tasks before.
  void consider(const std::map<uint32_t, Life> &lives, int where) {
    std::vector<Range> ranges;
    auto add = [&](uint32_t index) {
      const Buffer &buffer = program.buffers(static_cast<int>(index));
      ranges.push_back({buffer.offset(), buffer.offset() + runtime::getExtent(buffer), classify(index)});
    };
    for (auto [index, life] : lives)
      if (life.first <= where && where <= life.last)
        add(index);
    for (uint32_t index : between)
      add(index);
    std::sort(ranges.begin(), ranges.end(), [](const Range &left, const Range &right) {
      return std::tie(left.begin, left.end, left.kind) < std::tie(right.begin, right.end, right.kind);
    });
    std::map<MemoryClass, uint64_t> bytes;
    uint64_t reached = 0, total = 0;
    for (const Range &range : ranges) {
      uint64_t begin = std::max(range.begin, reached);
      if (range.end <= begin)
        continue;
      bytes[range.kind] += range.end - begin;
      total += range.end - begin;
      reached = range.end;
    }
    if (total > busiestTotal) {
      busiest = bytes;
      busiestTotal = total;
    }
  }

  const Program &program;
  std::set<uint32_t> between;
  std::map<MemoryClass, uint64_t> busiest;
  uint64_t busiestTotal = 0;
};

} // namespace

MemoryUse meshwright::tool::getMemoryUse(const meshwright::Package &package, const Program &program) {
  MemoryUse use = {};
  for (int i = 0; i != program.variable_buffers_size(); ++i)
    if (int32_t buffer = program.variable_buffers(i); buffer >= 0 && program.buffers(buffer).memory() == DEVICE)
      at(use, getClass(package.variables(i).kind())) += program.buffers(buffer).bytes();
  for (const Constant &constant : program.constants())
    at(use, MemoryClass::Constants) += program.buffers(static_cast<int>(constant.buffer())).bytes();
  Moment(program).addTo(use);
  uint64_t total = 0;
  for (uint64_t bytes : use)
    total += bytes;
  at(use, MemoryClass::Free) = program.arena_bytes() - std::min(total, program.arena_bytes());
  return use;
}
