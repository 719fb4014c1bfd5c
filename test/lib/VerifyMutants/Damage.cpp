//===- Damage.cpp - mistakes that a compiler could make -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Applies one mistake, of a kind that a compiler could make, to a correct package: a collective removed, moved or
// changed, a wait removed, an operand exchanged, a buffer shifted. A mistake that concerns one rank gives this rank a
// copy of its program first.
//
//===----------------------------------------------------------------------===//

#include "Damage.h"
#include <algorithm>

using namespace meshwright;
using namespace meshwright::test;

using Random = std::mt19937_64;
using Instructions = google::protobuf::RepeatedPtrField<Instruction>;

static int draw(Random &random, int count) { return static_cast<int>(random() % static_cast<uint64_t>(count)); }

/// A program that some rank runs.
static Program &drawProgram(Package &package, Random &random) {
  int rank = draw(random, package.program_of_rank_size());
  return *package.mutable_programs(static_cast<int>(package.program_of_rank(rank)));
}

/// A copy of a rank's program that this rank alone runs.
static Program &splitProgram(Package &package, Random &random) {
  int rank = draw(random, package.program_of_rank_size());
  Program copy = package.programs(static_cast<int>(package.program_of_rank(rank)));
  *package.add_programs() = std::move(copy);
  package.set_program_of_rank(rank, static_cast<uint32_t>(package.programs_size() - 1));
  return *package.mutable_programs(package.programs_size() - 1);
}

namespace {

struct Place {
  Instructions *list;
  int index;
  Instruction &operator*() const { return *list->Mutable(index); }
};

} // namespace

/// An instruction of a program that `wanted` holds for; one with a negative index where there is none.
template <typename Fn> static Place drawInstruction(Program &program, Random &random, Fn &&wanted) {
  std::vector<Place> places;
  for (Task &task : *program.mutable_tasks())
    for (int i = 0; i != task.instructions_size(); ++i)
      if (wanted(task.instructions(i)))
        places.push_back({task.mutable_instructions(), i});
  return places.empty() ? Place{nullptr, -1} : places[random() % places.size()];
}

static bool isAny(const Instruction &instruction) { return !instruction.has_loop() && !instruction.has_end_loop(); }
static bool isCollective(const Instruction &instruction) { return instruction.has_collective(); }
static bool isWait(const Instruction &instruction) { return instruction.has_wait() || instruction.has_copy_wait(); }
static bool computes(const Instruction &instruction) {
  return instruction.has_kernel() || instruction.has_matmul() || instruction.has_copy();
}

static void erase(Place place) { place.list->DeleteSubrange(place.index, 1); }

/// Moves an element of a list, which the others make room for.
static void move(Instructions &list, int from, int to) {
  for (; from < to; ++from)
    list.SwapElements(from, from + 1);
  for (; from > to; --from)
    list.SwapElements(from, from - 1);
}

/// Applies `change` to an instruction of a program, if there is one.
template <typename Wanted, typename Change>
static bool changeOne(Program &program, Random &random, Wanted &&wanted, Change &&change) {
  Place place = drawInstruction(program, random, wanted);
  return place.list && change(place);
}

/// The numbers of all buffers that an instruction names, to be changed.
static std::vector<std::function<void(uint32_t)>> listSetters(Instruction &instruction,
                                                              std::vector<uint32_t> &numbers) {
  std::vector<std::function<void(uint32_t)>> setters;
  for (int i = 0; i != instruction.kernel().arguments_size(); ++i) {
    numbers.push_back(instruction.kernel().arguments(i));
    setters.push_back([&instruction, i](uint32_t n) { instruction.mutable_kernel()->set_arguments(i, n); });
  }
  if (instruction.has_matmul()) {
    numbers.insert(numbers.end(), {instruction.matmul().lhs(), instruction.matmul().rhs()});
    setters.push_back([&instruction](uint32_t n) { instruction.mutable_matmul()->set_lhs(n); });
    setters.push_back([&instruction](uint32_t n) { instruction.mutable_matmul()->set_rhs(n); });
  }
  if (instruction.has_copy()) {
    numbers.push_back(instruction.copy().from());
    setters.push_back([&instruction](uint32_t n) { instruction.mutable_copy()->set_from(n); });
  }
  return setters;
}

/// Points an operand at another buffer of the same type and as many bytes.
static bool redirect(Package &package, Random &random) {
  Program &program = drawProgram(package, random);
  return changeOne(program, random, computes, [&](Place place) {
    std::vector<uint32_t> numbers;
    auto setters = listSetters(*place, numbers);
    if (numbers.empty())
      return false;
    size_t which = random() % numbers.size();
    const Buffer &old = program.buffers(static_cast<int>(numbers[which]));
    std::vector<uint32_t> others;
    for (int i = 0; i != program.buffers_size(); ++i) {
      const Buffer &other = program.buffers(i);
      if (other.dtype() == old.dtype() && other.bytes() == old.bytes() && other.offset() != old.offset() &&
          other.memory() == old.memory() && other.slots() == old.slots() && other.iteration_bytes_size() == 0)
        others.push_back(static_cast<uint32_t>(i));
    }
    if (others.empty())
      return false;
    setters[which](others[random() % others.size()]);
    return true;
  });
}

/// Exchanges two operands of equal types and sizes.
static bool exchangeOperands(Package &package, Random &random) {
  Program &program = drawProgram(package, random);
  return changeOne(
      program, random, [](const Instruction &instruction) { return instruction.has_kernel(); },
      [&](Place place) {
        Kernel &kernel = *(*place).mutable_kernel();
        int inputs = kernel.arguments_size() - static_cast<int>(kernel.outputs());
        std::vector<std::pair<int, int>> pairs;
        for (int i = 0; i < inputs; ++i)
          for (int k = 0; k != i; ++k) {
            const Buffer &first = program.buffers(static_cast<int>(kernel.arguments(i)));
            const Buffer &second = program.buffers(static_cast<int>(kernel.arguments(k)));
            if (first.offset() != second.offset() && first.bytes() == second.bytes() && first.dtype() == second.dtype())
              pairs.emplace_back(i, k);
          }
        if (pairs.empty())
          return false;
        auto [a, b] = pairs[random() % pairs.size()];
        kernel.mutable_arguments()->SwapElements(a, b);
        return true;
      });
}

static bool shiftBuffer(Package &package, Random &random) {
  Program &program = drawProgram(package, random);
  Buffer &buffer = *program.mutable_buffers(draw(random, program.buffers_size()));
  uint64_t by = draw(random, 2) == 0 ? 64 : 8;
  bool isUp = draw(random, 2) == 0;
  uint64_t end =
      buffer.offset() + by + buffer.bytes() + (buffer.slots() > 1 ? buffer.slots() * buffer.slot_bytes() : 0);
  if (buffer.bytes() == 0 || (isUp ? end > program.arena_bytes() : buffer.offset() < by))
    return false;
  buffer.set_offset(isUp ? buffer.offset() + by : buffer.offset() - by);
  return true;
}

static bool swapItems(Package &package, Random &random) {
  Program &program = drawProgram(package, random);
  int count = program.schedule_size();
  if (count < 2)
    return false;
  int a = draw(random, count), b = draw(random, count);
  program.mutable_schedule()->SwapElements(a, b);
  return a != b;
}

static bool changeMicroBatch(Package &package, Random &random) {
  Program &program = drawProgram(package, random);
  std::vector<std::pair<int, int>> pairs;
  for (int i = 0; i != program.schedule_size(); ++i)
    for (int k = 0; k != i; ++k)
      if (program.schedule(i).task() == program.schedule(k).task() &&
          program.schedule(i).micro_batch() != program.schedule(k).micro_batch())
        pairs.emplace_back(i, k);
  if (pairs.empty())
    return false;
  auto [one, other] = pairs[random() % pairs.size()];
  ScheduleItem &a = *program.mutable_schedule(one), &b = *program.mutable_schedule(other);
  uint32_t first = a.micro_batch();
  a.set_micro_batch(b.micro_batch());
  b.set_micro_batch(first);
  return true;
}

static bool changeSlots(Package &package, Random &random) {
  Program &program = drawProgram(package, random);
  std::vector<Buffer *> slotted;
  for (Buffer &buffer : *program.mutable_buffers())
    if (buffer.slots() > 1)
      slotted.push_back(&buffer);
  if (slotted.empty())
    return false;
  Buffer &buffer = *slotted[random() % slotted.size()];
  buffer.set_slots(buffer.slots() - 1);
  return true;
}

static bool changeCollective(Package &package, Random &random,
                             const std::function<bool(Package &, Collective &)> &change, bool onOneRank) {
  Program &program = onOneRank ? splitProgram(package, random) : drawProgram(package, random);
  return changeOne(program, random, isCollective,
                   [&](Place place) { return change(package, *(*place).mutable_collective()); });
}

static bool isReducing(const Collective &collective) {
  return collective.kind() == Collective::ALL_REDUCE || collective.kind() == Collective::REDUCE_SCATTER ||
         collective.kind() == Collective::REDUCE;
}

static bool changeReduction(Package &, Collective &collective) {
  collective.set_reduction(collective.reduction() == Collective::MAX ? Collective::SUM : Collective::MAX);
  return isReducing(collective);
}

static bool changeAxes(Package &package, Collective &collective) {
  if (collective.axes_size() == 0 || package.axes_size() < 2)
    return false;
  collective.set_axes(0, (collective.axes(0) + 1) % static_cast<uint32_t>(package.axes_size()));
  return true;
}

static bool changeCount(Package &, Collective &collective) {
  CollectivePart &part = *collective.mutable_parts(0);
  part.set_count(part.count() / 2);
  return part.count() != 0;
}

static bool changeRoot(Package &, Collective &collective) {
  if (collective.kind() == Collective::SEND) {
    uint32_t to = collective.to();
    collective.set_to(collective.parts(0).root());
    for (CollectivePart &part : *collective.mutable_parts())
      part.set_root(to);
    return true;
  }
  collective.mutable_parts(0)->set_root(collective.parts(0).root() == 0 ? 1 : 0);
  return collective.kind() == Collective::BROADCAST || collective.kind() == Collective::REDUCE;
}

static bool exchangeCollectives(Package &package, Random &random) {
  Program &program = splitProgram(package, random);
  return changeOne(program, random, isCollective, [&](Place place) {
    for (int i = place.index + 1; i != place.list->size(); ++i)
      if (place.list->Get(i).has_collective()) {
        place.list->SwapElements(place.index, i);
        return true;
      }
    return false;
  });
}

static bool duplicateCollective(Package &package, Random &random) {
  Program &program = splitProgram(package, random);
  uint32_t tag = 0;
  for (const Task &task : program.tasks())
    for (const Instruction &instruction : task.instructions())
      tag = std::max(tag, instruction.collective().tag());
  return changeOne(program, random, isCollective, [&](Place place) {
    Instruction copy = *place;
    copy.mutable_collective()->set_tag(tag + 1);
    copy.mutable_collective()->set_start(false);
    *place.list->Add() = std::move(copy);
    move(*place.list, place.list->size() - 1, place.index + 1);
    return true;
  });
}

/// Reduces the result of an all-reduce once more, on all ranks that run the program.
static bool reduceAgain(Package &package, Random &random) {
  Program &program = drawProgram(package, random);
  auto isAllReduce = [](const Instruction &instruction) {
    return instruction.has_collective() && instruction.collective().kind() == Collective::ALL_REDUCE;
  };
  uint32_t tag = 0;
  for (const Task &task : program.tasks())
    for (const Instruction &instruction : task.instructions())
      tag = std::max(tag, instruction.collective().tag());
  return changeOne(program, random, isAllReduce, [&](Place place) {
    Instruction copy = *place;
    Collective &again = *copy.mutable_collective();
    // The result is there once it was waited for.
    int to = place.index + 1;
    while (again.start() && to != place.list->size() && place.list->Get(to++).wait().tag() != again.tag())
      ;
    again.set_tag(tag + 1);
    again.set_start(false);
    for (CollectivePart &part : *again.mutable_parts())
      part.set_in(part.out());
    *place.list->Add() = std::move(copy);
    move(*place.list, place.list->size() - 1, to);
    return true;
  });
}

static bool deletePart(Package &, Collective &collective) {
  if (collective.parts_size() < 2)
    return false;
  collective.mutable_parts()->RemoveLast();
  return true;
}

/// Lets a kernel be another one, of as many arguments with as many bytes.
static bool exchangeKernels(Package &package, Random &random) {
  Program &program = drawProgram(package, random);
  auto isKernel = [](const Instruction &instruction) { return instruction.has_kernel(); };
  auto getBytes = [&](const Kernel &kernel, int i) {
    return program.buffers(static_cast<int>(kernel.arguments(i))).bytes();
  };
  return changeOne(program, random, isKernel, [&](Place place) {
    Kernel &kernel = *(*place).mutable_kernel();
    Place other = drawInstruction(program, random, [&](const Instruction &instruction) {
      const Kernel &found = instruction.kernel();
      if (!instruction.has_kernel() || found.symbol() == kernel.symbol() || found.outputs() != kernel.outputs() ||
          found.arguments_size() != kernel.arguments_size())
        return false;
      for (int i = 0; i != kernel.arguments_size(); ++i)
        if (getBytes(found, i) != getBytes(kernel, i))
          return false;
      return true;
    });
    if (!other.list)
      return false;
    kernel.set_symbol((*other).kernel().symbol());
    return true;
  });
}

/// Transposes a square operand of a product.
static bool exchangeStrides(Package &package, Random &random) {
  auto isSquare = [](const Instruction &instruction) {
    const Matmul &matmul = instruction.matmul();
    return instruction.has_matmul() && (matmul.m() == matmul.k() || matmul.k() == matmul.n());
  };
  return changeOne(drawProgram(package, random), random, isSquare, [&](Place place) {
    Matmul &matmul = *(*place).mutable_matmul();
    auto &strides = matmul.m() == matmul.k() ? *matmul.mutable_lhs_strides() : *matmul.mutable_rhs_strides();
    int last = strides.size() - 1;
    if (last < 1 || strides[last] == strides[last - 1])
      return false;
    strides.SwapElements(last, last - 1);
    return true;
  });
}

/// Lets a kernel write its result over an operand.
static bool putOverOperand(Package &package, Random &random) {
  Program &program = drawProgram(package, random);
  auto isKernel = [](const Instruction &instruction) { return instruction.has_kernel(); };
  return changeOne(program, random, isKernel, [&](Place place) {
    const Kernel &kernel = (*place).kernel();
    int inputs = kernel.arguments_size() - static_cast<int>(kernel.outputs());
    if (inputs == 0 || kernel.outputs() == 0)
      return false;
    const Buffer &operand = program.buffers(static_cast<int>(kernel.arguments(draw(random, inputs))));
    Buffer &result = *program.mutable_buffers(
        static_cast<int>(kernel.arguments(inputs + draw(random, static_cast<int>(kernel.outputs())))));
    if (operand.bytes() < result.bytes() || operand.offset() == result.offset() ||
        operand.memory() != result.memory() || operand.slots() != result.slots())
      return false;
    result.set_offset(operand.offset());
    return true;
  });
}

/// Puts a value of the step into the place of one of `places`, which has room for it.
static bool putOver(Program &program, Random &random, const std::vector<int> &places) {
  Buffer &temporary = *program.mutable_buffers(draw(random, program.buffers_size()));
  if (temporary.memory() != DEVICE || temporary.offset() < program.persistent_bytes())
    return false;
  std::vector<uint64_t> offsets;
  for (int place : places)
    if (const Buffer &other = program.buffers(place);
        other.memory() == DEVICE && other.slots() == temporary.slots() && other.offset() != temporary.offset() &&
        other.bytes() >= temporary.bytes() && other.iteration_bytes_size() == 0)
      offsets.push_back(other.offset());
  if (offsets.empty())
    return false;
  temporary.set_offset(offsets[random() % offsets.size()]);
  return true;
}

static bool putOverValue(Package &package, Random &random) {
  Program &program = drawProgram(package, random);
  std::vector<int> places;
  for (int i = 0; i != program.buffers_size(); ++i)
    if (program.buffers(i).offset() >= program.persistent_bytes())
      places.push_back(i);
  return putOver(program, random, places);
}

static bool putOverVariable(Package &package, Random &random) {
  Program &program = drawProgram(package, random);
  std::vector<int> places;
  for (int32_t buffer : program.variable_buffers())
    if (buffer >= 0)
      places.push_back(buffer);
  return putOver(program, random, places);
}

/// Splits a variable over another axis of the same size.
static bool changePlacement(Package &package, Random &random) {
  Variable &variable = *package.mutable_variables(draw(random, package.variables_size()));
  for (DimSplits &dim : *variable.mutable_placement()->mutable_dims())
    for (Split &split : *dim.mutable_splits())
      for (uint32_t axis = 0; axis != static_cast<uint32_t>(package.axes_size()); ++axis)
        if (axis != split.axis() &&
            package.axes(static_cast<int>(axis)).size() == package.axes(static_cast<int>(split.axis())).size()) {
          split.set_axis(axis);
          return true;
        }
  return false;
}

/// Takes the coordinate of another axis, so that slices begin elsewhere.
static bool changeCoordinate(Package &package, Random &random) {
  auto isCoordinate = [](const Instruction &instruction) { return instruction.has_coordinate(); };
  return changeOne(drawProgram(package, random), random, isCoordinate, [&](Place place) {
    Coordinate &coordinate = *(*place).mutable_coordinate();
    coordinate.set_axis((coordinate.axis() + 1) % static_cast<uint32_t>(package.axes_size()));
    return package.axes_size() > 1;
  });
}

/// Reads a constant from the place of another one.
static bool moveConstant(Package &package, Random &random) {
  Program &program = drawProgram(package, random);
  if (program.constants_size() < 2)
    return false;
  Constant &constant = *program.mutable_constants(draw(random, program.constants_size()));
  const Constant &other = program.constants(draw(random, program.constants_size()));
  uint64_t bytes = program.buffers(static_cast<int>(constant.buffer())).bytes();
  if (other.file_offset() == constant.file_offset() ||
      program.buffers(static_cast<int>(other.buffer())).bytes() < bytes)
    return false;
  constant.set_file_offset(other.file_offset());
  return true;
}

/// True if the instruction writes the buffer or another one at its place.
static bool writes(const Program &program, const Instruction &instruction, const Buffer &buffer) {
  std::vector<uint32_t> written;
  const Kernel &kernel = instruction.kernel();
  for (int i = kernel.arguments_size() - static_cast<int>(kernel.outputs()); i < kernel.arguments_size(); ++i)
    written.push_back(kernel.arguments(i));
  if (instruction.has_copy())
    written.push_back(instruction.copy().to());
  return std::any_of(written.begin(), written.end(), [&](uint32_t number) {
    const Buffer &other = program.buffers(static_cast<int>(number));
    return other.offset() == buffer.offset() && other.memory() == buffer.memory();
  });
}

/// Leaves a parameter as it is on every rank.
static bool deleteUpdate(Package &package, Random &random) {
  int variable = draw(random, package.variables_size());
  if (package.variables(variable).kind() != Variable::PARAMETER)
    return false;
  bool isDeleted = false;
  for (Program &program : *package.mutable_programs()) {
    int32_t buffer = program.variable_buffers(variable);
    for (Task &task : *program.mutable_tasks())
      for (int i = buffer < 0 ? 0 : task.instructions_size(); i-- != 0;)
        if (writes(program, task.instructions(i), program.buffers(buffer))) {
          erase({task.mutable_instructions(), i});
          isDeleted = true;
        }
  }
  return isDeleted;
}

std::vector<Damage> meshwright::test::listDamages() {
  auto onOne = [](bool (*change)(Package &, Collective &)) {
    return [change](Package &package, Random &random) { return changeCollective(package, random, change, true); };
  };
  auto onAll = [](bool (*change)(Package &, Collective &)) {
    return [change](Package &package, Random &random) { return changeCollective(package, random, change, false); };
  };
  auto deleteOne = [](auto wanted, bool onOneRank) {
    return [=](Package &package, Random &random) {
      Program &program = onOneRank ? splitProgram(package, random) : drawProgram(package, random);
      return changeOne(program, random, wanted, [](Place place) {
        erase(place);
        return true;
      });
    };
  };
  auto moveOne = [](auto wanted, int direction) {
    return [=](Package &package, Random &random) {
      return changeOne(drawProgram(package, random), random, wanted, [&](Place place) {
        int to = place.index + direction * (1 + draw(random, 12));
        if (to < 0 || to >= place.list->size())
          return false;
        move(*place.list, place.index, to);
        return true;
      });
    };
  };
  auto exchange = [](Package &package, Random &random) {
    return changeOne(drawProgram(package, random), random, isAny, [&](Place place) {
      int other = draw(random, place.list->size());
      if (other == place.index || !isAny(place.list->Get(other)))
        return false;
      place.list->SwapElements(place.index, other);
      return true;
    });
  };
  return {{"collective-deleted-on-one-rank", deleteOne(isCollective, true)},
          {"collective-duplicated-on-one-rank", duplicateCollective},
          {"collectives-exchanged-on-one-rank", exchangeCollectives},
          {"reduction-changed-on-one-rank", onOne(changeReduction)},
          {"axes-changed-on-one-rank", onOne(changeAxes)},
          {"count-changed-on-one-rank", onOne(changeCount)},
          {"root-changed-on-one-rank", onOne(changeRoot)},
          {"wait-moved-later", moveOne(isWait, 1)},
          {"wait-deleted", deleteOne(isWait, false)},
          {"instruction-moved-earlier", moveOne(computes, -1)},
          {"instruction-moved-later", moveOne(computes, 1)},
          {"instructions-exchanged", exchange},
          {"instruction-deleted", deleteOne(computes, false)},
          {"buffer-shifted", shiftBuffer},
          {"items-exchanged", swapItems},
          {"micro-batches-exchanged", changeMicroBatch},
          {"slot-missing", changeSlots},
          {"collective-deleted-on-all-ranks", deleteOne(isCollective, false), true},
          {"collective-moved-on-all-ranks",
           [=](Package &package, Random &random) {
             return moveOne(isCollective, draw(random, 2) == 0 ? -1 : 1)(package, random);
           },
           true},
          {"collective-doubled-on-all-ranks", reduceAgain, true},
          {"reduction-changed-on-all-ranks", onAll(changeReduction), true},
          {"axes-changed-on-all-ranks", onAll(changeAxes), true},
          {"part-deleted-on-all-ranks", onAll(deletePart), true},
          {"operand-redirected", redirect, true},
          {"operands-exchanged", exchangeOperands, true},
          {"kernels-exchanged", exchangeKernels, true},
          {"strides-exchanged", exchangeStrides, true},
          {"result-put-over-operand", putOverOperand, true},
          {"temporary-put-over-value", putOverValue, true},
          {"temporary-put-over-variable", putOverVariable, true},
          {"placement-changed", changePlacement, true},
          {"coordinate-changed", changeCoordinate, true},
          {"constant-moved", moveConstant, true},
          {"update-deleted", deleteUpdate, true}};
}
