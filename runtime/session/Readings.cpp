//===- Readings.cpp - the scalars that are read of every step -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/Readings.h"
#include <cstring>

using namespace meshwright;
using namespace meshwright::runtime;

/// The buffer in which a rank has it, or -1.
static int32_t getBuffer(const Session &session, const Scalar &scalar, int64_t rank) {
  const Program &program = session.getProgram(rank);
  auto index = static_cast<int>(scalar.index);
  return scalar.set == &session.getOutputs() ? program.output_buffers(index) : program.variable_buffers(index);
}

std::optional<Scalar> meshwright::runtime::findScalar(const Session &session, const std::string &name) {
  for (const ValueSet *set : {&session.getOutputs(), &session.getVariables()})
    if (std::optional<size_t> i = name.empty() ? std::nullopt : set->find(name))
      if (*getNumElements(set->getShape(*i)) == 1)
        return Scalar{set, *i};
  return std::nullopt;
}

Status Readings::prepare(const Session &session, std::span<const std::string> names,
                         std::span<const std::unique_ptr<Executor>> executors) {
  const meshwright::Package &message = session.getPackage().message();
  numNames = names.size();
  std::vector<Scalar> found;
  for (size_t i = 0; i != names.size(); ++i)
    if (std::optional<Scalar> scalar = findScalar(session, names[i])) {
      bool isOutput = scalar->set == &session.getOutputs();
      scalars.push_back({i, isOutput && message.outputs(static_cast<int>(scalar->index)).at_update()});
      found.push_back(*scalar);
    }
  // A rank passes no bytes for a scalar that it does not hold.
  std::vector<std::span<std::byte>> places;
  for (const std::unique_ptr<Executor> &executor : executors) {
    auto rank = session.getRanks().begin + static_cast<int64_t>(places.size());
    std::vector<int32_t> buffers;
    for (const Scalar &scalar : found)
      buffers.push_back(getBuffer(session, scalar, rank));
    MW_TRY_ASSIGN(places.emplace_back(), executor->prepareReadings(buffers));
  }
  for (size_t place = 0; place != numPlaces; ++place)
    for (size_t i = 0; i != found.size(); ++i) {
      const auto &[set, index] = found[i];
      values[place].add(set->getName(index), set->getType(index), set->getLayout(index), session.getMesh());
      for (int64_t rank = 0; rank != session.getNumRanks(); ++rank) {
        if (getBuffer(session, found[i], rank) == -1)
          continue;
        std::span<std::byte> array;
        if (session.getRanks().contains(rank))
          array = places[rank - session.getRanks().begin].subspan((place * found.size() + i) * Device::scalarBytes,
                                                                  getSize(set->getType(index)));
        values[place].addHolder(rank, array);
      }
    }
  return {};
}

void Readings::noteStep(uint32_t position, double hostSeconds) {
  positions[getNextPlace()] = position;
  seconds[getNextPlace()] = hostSeconds;
  ++numRun;
}

Result<StepReading> Readings::read(const Session &session, StepCosts costs) {
  assert(getNumUnread() != 0 && "a step was run");
  uint32_t place = getOldestPlace();
  if (!session.runsAhead())
    costs.seconds = seconds[place];
  StepReading reading;
  reading.position = positions[place];
  reading.isUpdate = (reading.position + 1) % session.getPackage().getAccumulationSteps() == 0;
  reading.costs = costs;
  numRead = numRun - getNumUnread() + 1;
  MW_TRY(readScalars(session, place, reading));
  if (session.getWorld().isAlone())
    return reading;
  MW_TRY_ASSIGN(std::vector<Bytes> all, session.getWorld().gather(std::as_bytes(std::span(&costs, 1))));
  for (size_t process = 1; process < all.size(); ++process) {
    StepCosts other;
    std::memcpy(&other, all[process].data(), std::min(sizeof(other), all[process].size()));
    reading.costs.add(other);
  }
  return reading;
}

Status Readings::readScalars(const Session &session, uint32_t place, StepReading &reading) const {
  reading.scalars.resize(numNames);
  std::vector<std::byte> bytes(scalars.size() * Device::scalarBytes);
  std::vector<Gathered> wanted;
  for (size_t i = 0; i != scalars.size(); ++i)
    if (!scalars[i].isOfUpdate || reading.isUpdate)
      wanted.push_back(
          {&values[place], i, std::span(bytes).subspan(i * Device::scalarBytes, values[place].getBytes(i))});
  MW_TRY(session.gather(wanted));
  for (const Gathered &value : wanted)
    reading.scalars[scalars[value.index].number] = loadAsDouble(value.set->getType(value.index), value.whole.data());
  return {};
}
