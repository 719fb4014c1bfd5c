//===- Provenance.cpp - the instructions that a value comes from ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One walk over the step from its end, with the ranges of memory whose contents are traced.
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/Provenance.h"
#include "CheckCollectives.h"
#include "meshwright/runtime/RangeSet.h"

using namespace meshwright;
using namespace meshwright::runtime;

namespace {

/// Bytes of the two arenas.
class Places {
public:
  void add(const Buffer &buffer) {
    auto [begin, end] = getRange(buffer);
    bytes.add(begin, end);
  }
  void remove(const Buffer &buffer) {
    auto [begin, end] = getRange(buffer);
    bytes.remove(begin, end);
  }
  bool overlaps(const Buffer &buffer) const {
    auto [begin, end] = getRange(buffer);
    return bytes.overlaps(begin, end);
  }

private:
  static std::pair<uint64_t, uint64_t> getRange(const Buffer &buffer) {
    uint64_t arena = uint64_t(buffer.memory()) << 62;
    return {arena + buffer.offset(), arena + buffer.offset() + buffer.bytes()};
  }

  RangeSet bytes;
};

struct Accesses {
  std::vector<uint32_t> reads, writes;
};

Accesses getAccesses(const Instruction &instruction) {
  Accesses accesses;
  if (instruction.has_kernel()) {
    const auto &arguments = instruction.kernel().arguments();
    int inputs = arguments.size() - static_cast<int>(instruction.kernel().outputs());
    accesses.reads.assign(arguments.begin(), arguments.begin() + inputs);
    accesses.writes.assign(arguments.begin() + inputs, arguments.end());
  } else if (instruction.has_matmul()) {
    accesses = {{instruction.matmul().lhs(), instruction.matmul().rhs()}, {instruction.matmul().out()}};
  } else if (instruction.has_convolution()) {
    accesses = {{instruction.convolution().lhs(), instruction.convolution().rhs()}, {instruction.convolution().out()}};
  } else if (instruction.has_copy()) {
    accesses = {{instruction.copy().from()}, {instruction.copy().to()}};
  } else if (instruction.has_collective()) {
    for (const CollectivePart &part : instruction.collective().parts())
      if (part.has_out())
        accesses.writes.push_back(part.out());
  }
  return accesses;
}

} // namespace

std::vector<std::string> meshwright::runtime::findLastCollectives(const Program &program, uint32_t position,
                                                                  uint32_t buffer) {
  std::vector<std::pair<const Task *, int>> executed;
  for (const ScheduleItem &item : program.schedule())
    if (runsAt(item, position)) {
      const Task &task = program.tasks(static_cast<int>(item.task()));
      for (int i = 0; i != task.instructions_size(); ++i)
        executed.push_back({&task, i});
    }
  auto getBuffer = [&](uint32_t index) -> const Buffer & { return program.buffers(static_cast<int>(index)); };
  Places traced;
  traced.add(getBuffer(buffer));
  std::vector<std::string> found;
  for (size_t i = executed.size(); i-- != 0;) {
    auto [task, index] = executed[i];
    Accesses accesses = getAccesses(task->instructions(index));
    if (std::none_of(accesses.writes.begin(), accesses.writes.end(),
                     [&](uint32_t written) { return traced.overlaps(getBuffer(written)); }))
      continue;
    for (uint32_t written : accesses.writes)
      traced.remove(getBuffer(written));
    for (uint32_t read : accesses.reads)
      traced.add(getBuffer(read));
    std::string text = describeInstruction(*task, index);
    if (task->instructions(index).has_collective() && std::find(found.begin(), found.end(), text) == found.end())
      found.push_back(std::move(text));
  }
  return found;
}
