//===- CheckpointWriter.cpp - saving and resuming a run -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   ranks   -- step 2 --[copy]-- step 3 -- step 4 -- step 5 --[copy]-- step 6 --
//   thread              '------ write, sync, rename ------'    '----- write ...
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/CheckpointWriter.h"
#include "Arena.h"
#include "meshwright/runtime/Checksum.h"
#include <algorithm>
#include <cstring>
#include <system_error>
#include <thread>

using namespace meshwright;
using namespace meshwright::runtime;

namespace {

/// What a rank saves of a variable: a part that no rank before it holds.
struct OwnedPart {
  size_t variable;
  std::vector<int64_t> at;
  uint64_t addend;
  Box box, packed;
  uint64_t offset, bytes;
};

struct RankCopy {
  std::vector<OwnedPart> parts;
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
  Implementation(Session &session, CheckpointFolder folder, uint64_t keep)
      : session(session), folder(std::move(folder)), keep(keep), copies(session.getNumRanks()) {}

  Session &session;
  CheckpointFolder folder;
  uint64_t keep;
  std::vector<RankCopy> copies;
  /// All variables, without parts.
  std::vector<CheckpointVariable> variables;
  /// Of the checkpoint that is written.
  CheckpointIndex index;
  Status result;
  std::thread thread;

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

  Status prepareRank(int64_t rank) {
    const ValueSet &set = session.getVariables();
    RankCopy &copy = copies[rank];
    std::vector<int64_t> coordinates = session.getMesh().getCoordinates(rank);
    // No merge is ever under way between steps that are updates.
    bool updates = session.getPackage().getMergeSteps() == 1;
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
    return copy.bytes == 0 ? Status() : copy.memory.allocate(copy.bytes);
  }

  /// Accumulators are part of the state while a merge is under way.
  bool isSaved(const CheckpointVariable &variable) const {
    return index.mergePosition != 0 || !variable.isAccumulator();
  }

  void copyRank(int64_t rank) {
    const ValueSet &set = session.getVariables();
    for (const OwnedPart &part : copies[rank].parts)
      if (isSaved(variables[part.variable]))
        copyShared(part.box, set.getArray(part.variable, rank).data(), part.packed,
                   copies[rank].memory.data() + part.offset, runtime::getSize(set.getType(part.variable)));
  }

  Status writeRank(const std::string &path, const std::string &file, const RankCopy &copy) {
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
    MW_TRY_ASSIGN(SafeTensorsWriter writer, SafeTensorsWriter::create(path + "/" + file, entries));
    for (const OwnedPart *part : parts) {
      std::span<const std::byte> bytes = copy.getBytes(*part);
      MW_TRY(writer.append(bytes));
      index.variables[part->variable].parts.push_back({file, part->at, computeChecksum(bytes), part->addend});
    }
    MW_TRY(writer.sync());
    return writer.commit();
  }

  Status write() {
    index.variables = variables;
    MW_TRY_ASSIGN(std::string temporary, folder.begin());
    for (size_t rank = 0; rank != copies.size(); ++rank)
      MW_TRY(writeRank(temporary, fmt::format("rank-{:05}.safetensors", rank), copies[rank]));
    std::erase_if(index.variables, [&](const CheckpointVariable &variable) { return !isSaved(variable); });
    MW_TRY(folder.commit(temporary, index));
    return folder.prune(keep);
  }
};

CheckpointWriter::CheckpointWriter(std::unique_ptr<Implementation> implementation)
    : implementation(std::move(implementation)) {}

CheckpointWriter::~CheckpointWriter() {
  if (implementation->thread.joinable())
    implementation->thread.join();
}

Result<std::unique_ptr<CheckpointWriter>> CheckpointWriter::create(Session &session, CheckpointFolder folder,
                                                                   uint64_t keep) {
  auto implementation = std::make_unique<Implementation>(session, std::move(folder), keep);
  implementation->describeVariables();
  MW_TRY(session.forEachRank([&](int64_t rank) { return implementation->prepareRank(rank); }));
  return std::unique_ptr<CheckpointWriter>(new CheckpointWriter(std::move(implementation)));
}

Status CheckpointWriter::save(uint64_t step, uint64_t dataPosition, uint64_t seed) {
  MW_TRY(finish());
  Implementation *self = implementation.get();
  self->index.step = step;
  self->index.dataPosition = dataPosition;
  self->index.seed = seed;
  self->index.mergePosition = self->session.getMergePosition();
  self->index.mergeSteps = self->session.getPackage().getMergeSteps();
  MW_TRY(self->session.forEachRank([&](int64_t rank) -> Status {
    self->copyRank(rank);
    return {};
  }));
  // The standard library has no other way to say that there are no threads left.
  try {
    self->thread = std::thread([self] { self->result = self->write(); });
  } catch (const std::system_error &error) {
    return faultError("no thread can be started that writes a checkpoint: {}", error.what());
  }
  return {};
}

Status CheckpointWriter::finish() {
  if (implementation->thread.joinable())
    implementation->thread.join();
  return std::exchange(implementation->result, Status()).within("checkpoint");
}

uint64_t CheckpointWriter::getCopyBytes(int64_t rank) const { return implementation->copies[rank].bytes; }

//===----------------------------------------------------------------------===//
// Resuming
//===----------------------------------------------------------------------===//

/// For every variable of the session its place in the checkpoint; nothing for accumulators between merges.
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

/// A merge that is under way goes on in the same number of steps.
static Status restorePosition(Session &session, const Checkpoint &checkpoint) {
  const CheckpointIndex &index = checkpoint.getIndex();
  uint32_t steps = session.getPackage().getMergeSteps();
  if (index.mergePosition != 0 && index.mergeSteps != steps)
    return inputError(
        "{} is after {} of {} steps of a merge, but the package merges {}; where no merge is under way any "
        "number goes on",
        checkpoint.getFolder(), index.mergePosition, index.mergeSteps, steps);
  session.setMergePosition(index.mergePosition);
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
  MW_TRY(restorePosition(session, checkpoint));
  MW_TRY_ASSIGN(std::vector<std::optional<size_t>> places, matchVariables(session, checkpoint));
  // The ranks share the parts.
  MW_TRY(session.forEachRank([&](int64_t rank) -> Status {
    int64_t number = 0;
    for (size_t variable = 0; variable != index.variables.size(); ++variable)
      for (size_t part = 0; part != index.variables[variable].parts.size(); ++part)
        if (number++ % session.getNumRanks() == rank)
          MW_TRY(checkpoint.verify(variable, part));
    return {};
  }));
  return session.forEachRank([&](int64_t rank) -> Status {
    for (size_t i = 0; i != places.size(); ++i)
      restoreVariable(session, checkpoint, places[i], i, rank);
    return {};
  });
}
