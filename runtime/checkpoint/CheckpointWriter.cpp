//===- CheckpointWriter.cpp - saving and resuming a run -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   ranks   -- step 2 --[copy]-- step 3 -- step 4 -- step 5 --[copy]-- step 6 --
//   thread              '------ write, sync, rename ------'    '----- write ...
//
// Where there are several processes, the thread of each writes the files of its ranks, and the checksums go to the
// first process at the next step, which then writes the index and renames.
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/CheckpointWriter.h"
#include "meshwright/runtime/Arena.h"
#include "meshwright/runtime/Checksum.h"
#include "meshwright/runtime/StartThread.h"
#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>

using namespace meshwright;
using namespace meshwright::runtime;

namespace {

/// The part of a variable that a rank saves: one that no lower rank holds.
struct OwnedPart {
  size_t variable;
  std::vector<int64_t> at;
  uint64_t addend;
  Box box, packed;
  uint64_t offset, bytes;
};

struct RankCopy {
  std::vector<OwnedPart> parts;
  /// The checksums of the parts that were written last.
  std::vector<uint32_t> checksums;
  uint64_t bytes = 0;
  Arena memory;

  std::span<const std::byte> getBytes(const OwnedPart &part) const { return {memory.data() + part.offset, part.bytes}; }
};

std::string getKindName(Variable::Kind kind) {
  std::string name = Variable::Kind_Name(kind);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; });
  return name;
}

} // namespace

struct CheckpointWriter::Implementation {
  Implementation(Session &session, std::optional<CheckpointFolder> folder, uint64_t keep)
      : session(session), folder(std::move(folder)), keep(keep), copies(session.getNumRanks()) {}

  Session &session;
  std::optional<CheckpointFolder> folder;
  uint64_t keep;
  /// The copies of all ranks; only those of this process have memory.
  std::vector<RankCopy> copies;
  /// All variables, without parts.
  std::vector<CheckpointVariable> variables;
  /// The index of the checkpoint that is being written, and its folder until the checkpoint gets its name.
  CheckpointIndex index;
  std::string temporary;
  Status result;
  std::thread thread;
  /// The thread is done; the first process knows what this one has written; how many it knows that of.
  std::atomic<bool> isWritten = true;
  bool isReported = true;
  int64_t numReported = 0;
  /// With several processes, true from the start of a checkpoint until all of them know that it is over.
  bool isPolled = false;

  void describeVariables() {
    const ValueSet &set = session.getVariables();
    for (size_t i = 0; i != set.size(); ++i) {
      CheckpointVariable &variable = variables.emplace_back();
      variable.name = set.getName(i);
      variable.kind = getKindName(session.getPackage().message().variables(static_cast<int>(i)).kind());
      variable.type = set.getType(i);
      variable.shape = set.getShape(i);
      variable.addends = set.getLayout(i).getNumAddends();
      for (size_t dim = 0; dim != variable.shape.size(); ++dim) {
        auto &digits = variable.digits.emplace_back();
        for (const Layout::Digit &digit : set.getLayout(i).getDigits(dim))
          digits.push_back({digit.extent, digit.stride});
      }
    }
  }

  void describeRank(int64_t rank) {
    const ValueSet &set = session.getVariables();
    RankCopy &copy = copies[rank];
    std::vector<int64_t> coordinates = session.getMesh().getCoordinates(rank);
    // No accumulation is ever under way between steps that are updates.
    bool updates = session.getPackage().getAccumulationSteps() == 1;
    for (size_t i = 0; i != set.size(); ++i) {
      if (updates && variables[i].isAccumulator())
        continue;
      Box box(set.getLayout(i), coordinates);
      uint64_t bytes = box.getNumElements() * runtime::getSize(set.getType(i));
      if (!set.isFirstHolder(i, rank) || bytes == 0)
        continue;
      std::vector<int64_t> at;
      for (size_t dim = 0; dim != set.getShape(i).size(); ++dim)
        for (const Layout::Digit &digit : set.getLayout(i).getDigits(dim))
          at.push_back(coordinates[digit.axis]);
      Box packed = box.pack();
      copy.parts.push_back({i, std::move(at), set.getLayout(i).getAddend(coordinates), std::move(box),
                            std::move(packed), copy.bytes, bytes});
      copy.bytes += (bytes + 63) / 64 * 64;
    }
  }

  Status allocateRank(int64_t rank) {
    return copies[rank].bytes == 0 ? Status() : copies[rank].memory.allocate(copies[rank].bytes);
  }

  /// Accumulators are part of the state while an accumulation is under way.
  bool isSaved(const CheckpointVariable &variable) const {
    return index.accumulationPosition != 0 || !variable.isAccumulator();
  }

  Status copyRank(int64_t rank) {
    const ValueSet &set = session.getVariables();
    for (const OwnedPart &part : copies[rank].parts) {
      if (!isSaved(variables[part.variable]))
        continue;
      MW_TRY(session.pull(set, part.variable, rank));
      copyShared(part.box, set.getArray(part.variable, rank).data(), part.packed,
                 copies[rank].memory.data() + part.offset, runtime::getSize(set.getType(part.variable)));
    }
    return {};
  }

  static std::string getFile(int64_t rank) { return fmt::format("rank-{:05}.safetensors", rank); }

  Status writeRank(int64_t rank) {
    RankCopy &copy = copies[rank];
    copy.checksums.clear();
    std::vector<const OwnedPart *> parts;
    std::vector<SafeTensorsEntry> entries;
    for (const OwnedPart &part : copy.parts) {
      const CheckpointVariable &variable = variables[part.variable];
      if (!isSaved(variable))
        continue;
      parts.push_back(&part);
      entries.push_back({variable.name, variable.type, part.packed.getArrayShape()});
    }
    if (parts.empty())
      return {};
    MW_TRY_ASSIGN(SafeTensorsWriter writer, SafeTensorsWriter::create(temporary + "/" + getFile(rank), entries));
    for (const OwnedPart *part : parts) {
      std::span<const std::byte> bytes = copy.getBytes(*part);
      MW_TRY(writer.append(bytes));
      copy.checksums.push_back(computeChecksum(bytes));
    }
    MW_TRY(writer.sync());
    return writer.commit();
  }

  /// The ranks of this process; alone, it is the whole checkpoint.
  Status write() {
    RankRange ranks = session.getRanks();
    for (int64_t rank = ranks.begin; rank != ranks.end; ++rank)
      MW_TRY(writeRank(rank));
    return session.getWorld().isAlone() ? complete() : Status();
  }

  /// Everything is written, and all checksums are known.
  Status complete() {
    index.variables = variables;
    for (size_t rank = 0; rank != copies.size(); ++rank) {
      size_t number = 0;
      for (const OwnedPart &part : copies[rank].parts)
        if (isSaved(variables[part.variable]))
          index.variables[part.variable].parts.push_back(
              {getFile(static_cast<int64_t>(rank)), part.at, copies[rank].checksums[number++], part.addend});
    }
    std::erase_if(index.variables, [&](const CheckpointVariable &variable) { return !isSaved(variable); });
    MW_TRY(folder->commit(temporary, index));
    return folder->prune(keep);
  }

  /// The first process makes the folder, the others learn where it is.
  Status begin() {
    World &world = session.getWorld();
    Status status;
    if (world.isFirst()) {
      auto made = folder->begin();
      status = made.status();
      temporary = made.ok() ? *made : "";
    }
    MW_TRY(world.agree(status));
    std::span<const std::byte> name = std::as_bytes(std::span(temporary));
    MW_TRY_ASSIGN(Bytes shared, world.share(Bytes(name.begin(), name.end())));
    temporary.assign(reinterpret_cast<const char *>(shared.data()), shared.size());
    return {};
  }

  /// The message of this process to the first: empty before the end, then the checksums of its ranks in order.
  Bytes report() {
    if (isReported || !isWritten)
      return {};
    isReported = true;
    Bytes message(1);
    RankRange ranks = session.getRanks();
    for (int64_t rank = ranks.begin; rank != ranks.end; ++rank) {
      std::span<const std::byte> checksums = std::as_bytes(std::span(copies[rank].checksums));
      message.insert(message.end(), checksums.begin(), checksums.end());
    }
    return message;
  }

  /// Takes in what a process says of its ranks.
  Status takeIn(const Bytes &message, RankRange ranks) {
    size_t at = 1;
    for (int64_t rank = ranks.begin; rank != ranks.end; ++rank) {
      std::vector<uint32_t> &checksums = copies[rank].checksums;
      checksums.resize(std::count_if(copies[rank].parts.begin(), copies[rank].parts.end(),
                                     [&](const OwnedPart &part) { return isSaved(variables[part.variable]); }));
      std::span<std::byte> bytes = std::as_writable_bytes(std::span(checksums));
      if (message.size() - at < bytes.size())
        return faultError("{} bytes are too few for the checksums of ranks {} to {}", message.size(), ranks.begin,
                          ranks.end - 1);
      std::copy_n(message.data() + at, bytes.size(), bytes.data());
      at += bytes.size();
    }
    return {};
  }

  Status poll() {
    World &world = session.getWorld();
    if (!isPolled)
      return {};
    if (isWritten)
      MW_TRY(result);
    MW_TRY_ASSIGN(std::vector<Bytes> messages, world.gather(report()));
    for (size_t process = 0; process != messages.size(); ++process) {
      if (messages[process].empty())
        continue;
      MW_TRY(takeIn(messages[process], world.getRanks(session.getNumRanks(), static_cast<int64_t>(process))));
      if (++numReported == world.getNumProcesses())
        return complete();
    }
    return {};
  }

  /// Starts the thread that writes.
  Status start() {
    isWritten = false;
    isReported = false;
    numReported = 0;
    isPolled = !session.getWorld().isAlone();
    return startThread(thread, "that writes a checkpoint", [this] {
      result = write();
      isWritten = true;
    });
  }

  Status finish() {
    if (thread.joinable())
      thread.join();
    MW_TRY(std::exchange(result, Status()));
    if (!isPolled)
      return {};
    Status status = poll();
    isPolled = false;
    return session.getWorld().agree(status);
  }
};

CheckpointWriter::CheckpointWriter(std::unique_ptr<Implementation> implementation)
    : implementation(std::move(implementation)) {}

CheckpointWriter::~CheckpointWriter() {
  if (implementation->thread.joinable())
    implementation->thread.join();
}

Result<std::unique_ptr<CheckpointWriter>>
CheckpointWriter::create(Session &session, std::optional<CheckpointFolder> folder, uint64_t keep) {
  auto implementation = std::make_unique<Implementation>(session, std::move(folder), keep);
  implementation->describeVariables();
  for (int64_t rank = 0; rank != session.getNumRanks(); ++rank)
    implementation->describeRank(rank);
  MW_TRY(session.forEachRank([&](int64_t rank) { return implementation->allocateRank(rank); }));
  return std::unique_ptr<CheckpointWriter>(new CheckpointWriter(std::move(implementation)));
}

Status CheckpointWriter::save(CheckpointState state) {
  MW_TRY(finish());
  Implementation *self = implementation.get();
  static_cast<CheckpointState &>(self->index) = std::move(state);
  self->index.accumulationPosition = self->session.getAccumulationPosition();
  self->index.accumulationSteps = self->session.getPackage().getAccumulationSteps();
  MW_TRY(self->begin().within("checkpoint"));
  MW_TRY(self->session.forEachRank([&](int64_t rank) { return self->copyRank(rank); }));
  return self->start();
}

Status CheckpointWriter::poll() { return implementation->poll().within("checkpoint"); }
Status CheckpointWriter::finish() { return implementation->finish().within("checkpoint"); }

uint64_t CheckpointWriter::getCopyBytes(int64_t rank) const { return implementation->copies[rank].bytes; }

//===----------------------------------------------------------------------===//
// Resuming
//===----------------------------------------------------------------------===//

/// For every variable of the session its place in the checkpoint; nothing for accumulators between accumulations.
static Result<std::vector<std::optional<size_t>>> matchVariables(const Session &session, const Checkpoint &checkpoint) {
  const ValueSet &set = session.getVariables();
  const CheckpointIndex &index = checkpoint.getIndex();
  std::vector<std::optional<size_t>> places;
  for (size_t i = 0; i != set.size(); ++i) {
    const CheckpointVariable *found = index.find(set.getName(i));
    std::string type = toString(set.getShape(i), set.getType(i));
    if (!found && session.isIdle(i)) {
      places.push_back(std::nullopt);
      continue;
    }
    if (!found)
      return inputError("{} does not have the package's variable \"{}\" of {}", checkpoint.getFolder(), set.getName(i),
                        type);
    if (found->type != set.getType(i) || found->shape != set.getShape(i))
      return inputError("{}: variable \"{}\" is {} but the package's is {}", checkpoint.getFolder(), found->name,
                        toString(found->shape, found->type), type);
    places.push_back(found - index.variables.data());
  }
  for (const CheckpointVariable &variable : index.variables)
    if (!set.find(variable.name))
      return inputError("{} has the variable \"{}\" of {}, which the package does not have", checkpoint.getFolder(),
                        variable.name, toString(variable.shape, variable.type));
  return places;
}

/// An accumulation that is under way goes on in the same number of steps.
static Status restorePosition(Session &session, const Checkpoint &checkpoint) {
  const CheckpointIndex &index = checkpoint.getIndex();
  uint32_t steps = session.getPackage().getAccumulationSteps();
  if (index.accumulationPosition != 0 && index.accumulationSteps != steps)
    return inputError("{} is after {} of {} steps of an accumulation, but the package accumulates {}; where no "
                      "accumulation is under way any "
                      "number goes on",
                      checkpoint.getFolder(), index.accumulationPosition, index.accumulationSteps, steps);
  session.setAccumulationPosition(index.accumulationPosition);
  return {};
}

/// Gives a rank what it holds of a variable. Addends are kept apart where the session has as many.
static void restoreVariable(const Session &session, const Checkpoint &checkpoint, std::optional<size_t> place, size_t i,
                            int64_t rank) {
  const ValueSet &set = session.getVariables();
  const Layout &layout = set.getLayout(i);
  std::span<std::byte> array = set.getArray(i, rank);
  std::vector<int64_t> coordinates = session.getMesh().getCoordinates(rank);
  if (array.empty())
    return;
  if (!place) {
    std::memset(array.data(), 0, array.size());
    return;
  }
  uint64_t addend = layout.getAddend(coordinates);
  Box box(layout, coordinates);
  if (layout.getNumAddends() == checkpoint.getIndex().variables[*place].addends)
    checkpoint.readAddend(*place, addend, box, array.data());
  else if (addend == 0)
    checkpoint.read(*place, box, array.data());
  else
    fillNeutral(set.getType(i), array);
}

Status meshwright::runtime::restore(Session &session, const Checkpoint &checkpoint) {
  const CheckpointIndex &index = checkpoint.getIndex();
  MW_TRY(session.getWorld().agree(restorePosition(session, checkpoint)));
  auto found = matchVariables(session, checkpoint);
  MW_TRY(session.getWorld().agree(found.status()));
  const std::vector<std::optional<size_t>> &places = *found;
  // The ranks share the parts.
  MW_TRY(session.forEachRank([&](int64_t rank) -> Status {
    int64_t number = 0;
    for (size_t variable = 0; variable != index.variables.size(); ++variable)
      for (size_t part = 0; part != index.variables[variable].parts.size(); ++part)
        if (number++ % session.getNumRanks() == rank)
          MW_TRY(checkpoint.verify(variable, part));
    return {};
  }));
  MW_TRY(session.forEachRank([&](int64_t rank) -> Status {
    for (size_t i = 0; i != places.size(); ++i)
      restoreVariable(session, checkpoint, places[i], i, rank);
    return {};
  }));
  for (size_t i = 0; i != places.size(); ++i)
    session.noteWritten(session.getVariables(), i);
  return {};
}
