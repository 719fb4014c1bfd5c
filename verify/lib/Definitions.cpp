//===- Definitions.cpp - definition before use, and peaks of memory -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Follows the steps of an accumulation and remembers for every byte which instruction wrote it last, through which
// buffer, and when it was read last. What the rules are, and why all correct packages keep them, is in
// docs/reference/verify.md.
//
//===----------------------------------------------------------------------===//

#include "Memory.h"
#include "Program.h"
#include <algorithm>
#include <fmt/format.h>
#include <unordered_map>

using namespace meshwright;
using namespace meshwright::verify;

namespace {

/// The writer of bytes.
struct Writer {
  enum Kind : unsigned char { Nothing, Variable, Input, Constant, Instruction, Dropped };
  Kind kind = Nothing;
  bool isRead = false;
  /// For an instruction: the number of its item among those of the step, its task, and its number in the task.
  uint32_t item = 0, task = 0;
  int index = 0;
  uint32_t buffer = 0, microBatch = 0;
  bool hasSlots = false;
  Range place; ///< of the buffer's bytes that it writes, with their gaps
  uint64_t time = 0;
};

class StepFollower {
public:
  StepFollower(const CheckedProgram &program, ProgramReport &report, Findings &findings)
      : program(program), report(report), findings(findings), isConstant(program.program->buffers_size()) {
    for (const Constant &constant : program.program->constants()) {
      isConstant[constant.buffer()] = true;
      addKept(constant.buffer());
    }
    for (int32_t buffer : program.program->variable_buffers())
      if (buffer != -1)
        addKept(static_cast<uint32_t>(buffer));
  }

  /// Follows the step at a position; `isFirst` where nothing of the accumulation was done before, `isLast` where it is
  /// its end.
  void follow(uint32_t at, bool isFirst, bool isLast) {
    position = at;
    begin(isFirst);
    forEachExecuted(program, position, [&](const Executed &executed) { visit(executed); });
    end(isLast);
  }

  /// Notes the instructions of the last step that was followed whose results are of no use.
  void listUnread(uint32_t at) {
    std::set<std::pair<uint32_t, int>> useful;
    for (const Writer &writer : writers)
      if (writer.kind == Writer::Instruction && writer.isRead)
        useful.insert({writer.task, writer.index});
    forEachExecuted(program, at, [&](const Executed &executed) {
      bool writes = std::any_of(executed.checked->accesses.begin(), executed.checked->accesses.end(),
                                [](const Access &access) { return access.isWrite; });
      if (writes && useful.insert({executed.task, executed.index}).second)
        report.unread.push_back(getWhere(program, position, executed));
    });
  }

private:
  using Key = std::pair<uint32_t, uint64_t>;
  struct KeyHash {
    size_t operator()(const Key &key) const {
      return std::hash<uint64_t>()(key.second * 0x9e3779b97f4a7c15 ^ (uint64_t(key.first) << 32));
    }
  };

  void addKept(uint32_t buffer) {
    uint64_t address = getAddress(program.getBuffer(buffer));
    if (program.getBuffer(buffer).bytes() != 0)
      kept[address] = {shift({0, program.getBuffer(buffer).bytes()}, address), buffer};
  }

  static Range getArray(const Buffer &buffer) {
    uint64_t bytes = 0;
    countBytes(buffer.shape(), buffer.dtype(), bytes);
    return shift({0, bytes}, getAddress(buffer));
  }

  //===--------------------------------------------------------------------===//
  // The begin and the end of a step
  //===--------------------------------------------------------------------===//

  void begin(bool isFirst) {
    WriterMap before = std::move(memory);
    memory = WriterMap();
    writers.assign(1, {});
    own.clear();
    time = 0;
    changes.clear();
    for (int i = 0; i != program.program->variable_buffers_size(); ++i) {
      int32_t buffer = program.program->variable_buffers(i);
      if (buffer == -1)
        continue;
      bool accumulates = program.package->variables(i).kind() == Variable::ACCUMULATOR;
      // Before the first step of an accumulation an accumulator has what the accumulation before left.
      if (!accumulates)
        define(Writer::Variable, static_cast<uint32_t>(buffer));
      else if (!isFirst)
        defineAgain(static_cast<uint32_t>(buffer), before);
    }
    for (const Constant &constant : program.program->constants())
      define(Writer::Constant, constant.buffer());
    for (int32_t buffer : program.program->input_buffers())
      if (buffer != -1)
        define(Writer::Input, static_cast<uint32_t>(buffer));
  }

  /// A value that is there when a step begins.
  void define(Writer::Kind kind, uint32_t buffer) {
    Range place = getArray(program.getBuffer(buffer));
    note(addWriter({.kind = kind, .buffer = buffer, .place = place}), place);
  }

  /// Those bytes of an accumulator that a step of the accumulation has written.
  void defineAgain(uint32_t buffer, WriterMap &before) {
    Range place = getArray(program.getBuffer(buffer));
    uint32_t number = addWriter({.kind = Writer::Variable, .buffer = buffer, .place = place});
    before.visit(place, [&](Range range, const WriterMap::Piece &piece) {
      if (piece.writer != 0)
        memory.write(range, number, [](Range, const WriterMap::Piece &) {});
    });
    own[{buffer, place.begin}] = number;
  }

  void end(bool isLast) {
    ++time;
    ++itemNumber;
    Where where = getWhere(program, position);
    for (int i = 0; i != program.program->output_buffers_size(); ++i) {
      int32_t buffer = program.program->output_buffers(i);
      if (buffer == -1 || (program.package->outputs(i).at_update() && !isLast))
        continue;
      where.name = fmt::format("output \"{}\"", program.package->outputs(i).name());
      Range place = getArray(program.getBuffer(static_cast<uint32_t>(buffer)));
      read({static_cast<uint32_t>(buffer), false, {0, place.end - place.begin}}, place, nullptr, where);
    }
    for (int i = 0; i != program.program->variable_buffers_size(); ++i) {
      int32_t buffer = program.program->variable_buffers(i);
      if (buffer == -1 || (program.package->variables(i).kind() == Variable::ACCUMULATOR && isLast))
        continue;
      where.name = fmt::format("variable \"{}\"", program.package->variables(i).name());
      checkKept(static_cast<uint32_t>(buffer), where);
    }
    memory.visitAll([&](Range range, const WriterMap::Piece &piece) { die(range, piece, time); });
    notePeaks();
  }

  /// Checks that the bytes of a variable at the end of a step are its old value or were written in its place.
  void checkKept(uint32_t buffer, const Where &where) {
    Range place = getArray(program.getBuffer(buffer));
    memory.visit(place, [&](Range range, WriterMap::Piece &piece) {
      writers[piece.writer].isRead = true;
      piece.lastRead = time;
      if (!mayBeParts(writers[piece.writer].place, place))
        fail(where, "ends the step with bytes [{}, {}) that {} wrote for buffer {}, which has another place",
             range.begin % hostBase, range.end % hostBase, describe(piece.writer), writers[piece.writer].buffer);
    });
  }

  //===--------------------------------------------------------------------===//
  // Instructions
  //===--------------------------------------------------------------------===//

  void visit(const Executed &executed) {
    ++time;
    ++report.instructions;
    if (itemNumber != executed.itemNumber)
      dropped = 0;
    itemNumber = executed.itemNumber;
    Where where;
    for (const Access &access : executed.checked->accesses) {
      uint64_t address = getAddress(program, access.buffer, executed);
      if (!access.isWrite)
        read(access, shift(access.bytes, address), &executed, where);
    }
    for (const Access &access : executed.checked->accesses) {
      uint64_t address = getAddress(program, access.buffer, executed);
      if (access.isWrite)
        write(access, address, executed);
    }
    dropProduct(executed);
  }

  /// A product with an epilogue may come without its own result, so that only the kernel after it reads that.
  void dropProduct(const Executed &executed) {
    if (dropped != 0) {
      uint32_t product = dropped;
      memory.visit(writers[product].place, [&](Range, WriterMap::Piece &piece) {
        if (piece.writer == product)
          writers[product].kind = Writer::Dropped;
      });
      dropped = 0;
    }
    const Epilogue &epilogue = executed.instruction->matmul().epilogue();
    if (executed.instruction->matmul().has_epilogue() &&
        !(epilogue.has_preactivation() && epilogue.preactivation() == executed.instruction->matmul().out()))
      dropped = static_cast<uint32_t>(writers.size() - 1);
  }

  uint32_t addWriter(Writer writer) {
    writer.time = time;
    writers.push_back(writer);
    return static_cast<uint32_t>(writers.size() - 1);
  }

  void note(uint32_t number, Range range) {
    touch(range);
    memory.write(range, number, [&](Range old, const WriterMap::Piece &piece) { die(old, piece, time); });
    own[{writers[number].buffer, writers[number].place.begin}] = number;
  }

  void write(const Access &access, uint64_t address, const Executed &executed) {
    ++report.writes;
    Range place = shift(access.bytes, address);
    checkPlaceOfWrite(access.buffer, place, executed);
    const Buffer &buffer = program.getBuffer(access.buffer);
    uint32_t number = addWriter({.kind = Writer::Instruction,
                                 .item = executed.itemNumber,
                                 .task = executed.task,
                                 .index = executed.index,
                                 .buffer = access.buffer,
                                 .microBatch = executed.item->micro_batch(),
                                 .hasSlots = buffer.slots() != 0,
                                 .place = place});
    access.forEachRun([&](Range run) { note(number, shift(run, address)); });
  }

  /// Constants are never written, and what is written to a variable lies in it.
  void checkPlaceOfWrite(uint32_t buffer, Range place, const Executed &executed) {
    auto next = kept.upper_bound(place.begin);
    if (next != kept.begin() && std::prev(next)->second.first.overlaps(place))
      --next;
    for (; next != kept.end() && next->second.first.overlaps(place); ++next) {
      auto [range, owner] = next->second;
      if (isConstant[owner])
        fail(getWhere(program, position, executed), "writes bytes [{}, {}) of buffer {}, where constant buffer {} is",
             place.begin, place.end, buffer, owner);
      else if (!range.contains(place))
        fail(getWhere(program, position, executed),
             "writes bytes [{}, {}) of buffer {}, more than the variable in buffer {} at [{}, {})",
             place.begin % hostBase, place.end % hostBase, buffer, owner, range.begin % hostBase, range.end % hostBase);
    }
  }

  //===--------------------------------------------------------------------===//
  // Reads
  //===--------------------------------------------------------------------===//

  /// One place is a part of the other: slices, concatenations, and values in the place of others.
  static bool mayBeParts(Range written, Range read) { return written.contains(read) || read.contains(written); }

  /// `executed` is null for what a run fetches after the step.
  void read(const Access &access, Range place, const Executed *executed, const Where &where) {
    ++report.reads;
    uint64_t address = place.begin - access.bytes.begin;
    touch(place);
    auto known = own.find({access.buffer, address});
    uint32_t expected = known == own.end() ? 0 : known->second;
    std::string problem;
    // The runs are looked at one by one only where the range with their gaps is not all right.
    auto look = [&](Range range) {
      problem.clear();
      memory.visit(range, [&](Range found, WriterMap::Piece &piece) {
        writers[piece.writer].isRead = true;
        piece.lastRead = time;
        bool isOwn = piece.writer == expected && writers[expected].kind != Writer::Dropped;
        if (problem.empty() && !isOwn)
          problem = explain(access, place, found, piece.writer, expected, executed);
        else if (problem.empty() && piece.writer == 0)
          problem = explain(access, place, found, 0, 0, executed);
        else if (problem.empty())
          problem = checkSlots(access, found, piece.writer, executed);
      });
    };
    look(place);
    if (uint64_t runs = access.countRuns(); !problem.empty() && !access.dims.empty() && runs <= runsLeft) {
      runsLeft -= runs;
      std::string first;
      access.forEachRun([&](Range run) {
        look(shift(run, address));
        if (first.empty())
          first = problem;
      });
      problem = first;
    }
    if (problem.empty())
      return;
    if (isAssumed(place, executed)) {
      if (assumed.insert({executed->task, executed->index}).second)
        report.assumed.push_back(getWhere(program, position, *executed));
    } else
      fail(executed ? getWhere(program, position, *executed) : where, "{}", problem);
  }

  /// Returns true if bytes are persistent, belong to no variable or constant, and were not written in this step: then
  /// they are in a buffer that is kept from slice to slice and filled part by part. Parts not yet filled may hold any
  /// bytes.
  bool isAssumed(Range place, const Executed *executed) {
    if (!executed || place.end > program.program->persistent_bytes())
      return false;
    auto next = kept.upper_bound(place.begin);
    if ((next != kept.end() && next->second.first.overlaps(place)) ||
        (next != kept.begin() && std::prev(next)->second.first.overlaps(place)))
      return false;
    bool isUntouched = true;
    memory.visit(place, [&](Range, const WriterMap::Piece &piece) { isUntouched &= piece.writer == 0; });
    return isUntouched;
  }

  /// Says why bytes whose last writer is not that of the buffer are not what is meant, or nothing.
  std::string explain(const Access &access, Range place, Range found, uint32_t number, uint32_t expected,
                      const Executed *executed) const {
    const Writer &writer = writers[number];
    std::string bytes = fmt::format("reads bytes [{}, {}) of buffer {}{}", found.begin % hostBase, found.end % hostBase,
                                    access.buffer, getTitle(access.buffer));
    if (number == 0)
      return fmt::format("{}, which nothing has written in this step", bytes);
    if (writer.kind == Writer::Dropped)
      return fmt::format("{}, the result of a product whose epilogue may leave it out", bytes);
    std::string slots = checkSlots(access, found, number, executed);
    if (!slots.empty())
      return slots;
    bool isView = expected == 0;
    bool isHere = executed && writer.kind == Writer::Instruction && writer.item == executed->itemNumber;
    // A variable's own buffer is read before its new value is there, in each item.
    if (!isView && isHere)
      return fmt::format("{}, which {} has overwritten through buffer {}{} since {}", bytes, describe(number),
                         writer.buffer, getTitle(writer.buffer), describe(expected));
    DType type = program.getBuffer(access.buffer).dtype(), other = program.getBuffer(writer.buffer).dtype();
    if (type != other)
      return fmt::format("{} as {}, which {} wrote through buffer {}{} as {}", bytes, DType_Name(type),
                         describe(number), writer.buffer, getTitle(writer.buffer), DType_Name(other));
    if (mayBeParts(writer.place, place))
      return "";
    return fmt::format("{}, which {} wrote through buffer {}{}, of which it is no part", bytes, describe(number),
                       writer.buffer, getTitle(writer.buffer));
  }

  /// In a slot is what was written for the micro-batch.
  std::string checkSlots(const Access &access, Range found, uint32_t number, const Executed *executed) const {
    const Writer &writer = writers[number];
    if (!executed || program.getBuffer(access.buffer).slots() == 0 || number == 0)
      return "";
    if (writer.hasSlots && writer.microBatch == executed->item->micro_batch())
      return "";
    return fmt::format("reads bytes [{}, {}) of buffer {} for micro-batch {}, which {} wrote {}", found.begin,
                       found.end, access.buffer, executed->item->micro_batch(), describe(number),
                       writer.hasSlots ? fmt::format("for micro-batch {}", writer.microBatch)
                                       : "in a buffer without slots");
  }

  std::string getTitle(uint32_t buffer) const {
    const std::string &name = program.getBuffer(buffer).name();
    return name.empty() ? "" : fmt::format(" \"{}\"", name);
  }

  std::string describe(uint32_t number) const {
    const Writer &writer = writers[number];
    switch (writer.kind) {
    case Writer::Nothing:
      return "nothing";
    case Writer::Variable:
      return fmt::format("a variable in buffer {}{}", writer.buffer, getTitle(writer.buffer));
    case Writer::Input:
      return fmt::format("an input in buffer {}{}", writer.buffer, getTitle(writer.buffer));
    case Writer::Constant:
      return fmt::format("a constant in buffer {}{}", writer.buffer, getTitle(writer.buffer));
    default:
      break;
    }
    const Task &task = program.program->tasks(static_cast<int>(writer.task));
    return fmt::format("instruction {} of task \"{}\" (\"{}\"{})", writer.index, task.name(),
                       task.instructions(writer.index).name(),
                       program.microBatches > 1 ? fmt::format(" for micro-batch {}", writer.microBatch) : "");
  }

  template <typename... Args> void fail(const Where &where, fmt::format_string<Args...> format, Args &&...args) {
    findings.add(Property::Definition, where, fmt::format(format, std::forward<Args>(args)...));
  }

  //===--------------------------------------------------------------------===//
  // Peaks
  //===--------------------------------------------------------------------===//

  void touch(Range range) {
    if (range.isEmpty())
      return;
    Peak &peak = range.begin >= hostBase ? report.host : report.device;
    peak.highest = std::max(peak.highest, (range.end - 1) % hostBase + 1);
  }

  /// Bytes are overwritten at `now`, or the step ends: from being written until they were last read they were live.
  void die(Range range, const WriterMap::Piece &piece, uint64_t now) {
    if (piece.writer == 0)
      return;
    const Writer &writer = writers[piece.writer];
    // The persistent bytes are counted once, as a whole.
    uint64_t persistent = program.program->persistent_bytes();
    if (range.begin >= hostBase || range.end <= persistent)
      return;
    uint64_t bytes = range.end - std::max(range.begin, persistent);
    uint64_t last = std::max(piece.lastRead, writer.time);
    // The same bytes count once where a result takes the place of an operand.
    if (last >= now && now > writer.time)
      last = now - 1;
    changes.push_back({writer.time, static_cast<int64_t>(bytes)});
    changes.push_back({last + 1, -static_cast<int64_t>(bytes)});
  }

  void notePeaks() {
    // Buffers that end before an instruction make room for it: at equal times ends sort before beginnings.
    std::sort(changes.begin(), changes.end());
    int64_t live = 0, most = 0;
    uint64_t worst = 0;
    for (size_t i = 0; i != changes.size(); ++i) {
      live += changes[i].second;
      bool isLastOfTime = i + 1 == changes.size() || changes[i + 1].first != changes[i].first;
      if (isLastOfTime && live > most) {
        most = live;
        worst = changes[i].first;
      }
    }
    uint64_t bytes = program.program->persistent_bytes() + static_cast<uint64_t>(most);
    if (bytes <= report.device.live)
      return;
    report.device.live = bytes;
    report.device.where = getWhere(program, position);
    uint64_t at = 0;
    forEachExecuted(program, position, [&](const Executed &executed) {
      if (++at == worst)
        report.device.where = getWhere(program, position, executed);
    });
  }

  const CheckedProgram &program;
  ProgramReport &report;
  Findings &findings;
  std::vector<bool> isConstant;
  /// Places of variables and constants, by where they begin.
  std::map<uint64_t, std::pair<Range, uint32_t>> kept;
  uint32_t position = 0;
  uint32_t itemNumber = 0;
  WriterMap memory;
  /// The first one is nothing.
  std::vector<Writer> writers;
  /// The last writer of a buffer at an address, through the buffer itself.
  std::unordered_map<Key, uint32_t, KeyHash> own;
  /// A product whose result may be missing after the next instruction; 0 for none.
  uint32_t dropped = 0;
  uint64_t time = 0;
  /// So many runs may still be looked at one by one; a small package could otherwise keep its reader busy for days.
  uint64_t runsLeft = uint64_t(1) << 24;
  /// Instructions whose reads are assumed to make no difference.
  std::set<std::pair<uint32_t, int>> assumed;
  /// Changes of the number of live bytes: from this time on, so many more.
  std::vector<std::pair<uint64_t, int64_t>> changes;
};

} // namespace

void verify::checkDefinitions(const CheckedProgram &program, const std::vector<uint32_t> &variants,
                              ProgramReport &report, Findings &findings) {
  const Program &message = *program.program;
  report.device.arena = message.arena_bytes();
  report.host.arena = report.host.live = message.host_arena_bytes();
  report.device.live = report.device.highest = message.persistent_bytes();
  report.device.where = report.host.where = getWhere(program, 0);
  StepFollower follower(program, report, findings);
  for (size_t i = 0; i != variants.size(); ++i) {
    uint32_t end = i + 1 == variants.size() ? program.accumulationSteps : variants[i + 1];
    follower.follow(variants[i], variants[i] == 0, end == variants[i] + 1 && end == program.accumulationSteps);
    follower.listUnread(variants[i]);
    // The last step of an accumulation, where it is one of many alike: outputs are known then.
    if (end == program.accumulationSteps && end != variants[i] + 1)
      follower.follow(end - 1, false, true);
  }
}
