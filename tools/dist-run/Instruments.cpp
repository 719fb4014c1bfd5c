//===- Instruments.cpp - what watches and disturbs a run ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Instruments.h"
#include "RunEnd.h"
#include "meshwright/runtime/MessageCheck.h"
#include <fmt/core.h>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::tool;

/// Seconds that a process gets to come to its end after a rank has failed, and those in which the flights of other
/// processes come: mpirun ends what is left of a run a second after a process was killed.
static constexpr double patience = 5, othersPatience = 0.5;

Instruments::Instruments(World &world, const Options &options)
    : world(world), options(options),
      faults(options.faults, [](const std::string &note) { fmt::print(stderr, "dist-run: fault: {}\n", note); }),
      decorated(world,
                [this](std::unique_ptr<Backend> backend, const BackendOptions &backendOptions) {
                  return instrument(std::move(backend), backendOptions.numRanks);
                }),
      watchdog(
          patience,
          [this](const Status &status) {
            reportFailure(status);
            fmt::print(stderr, "dist-run: error: {}\n", status.message());
            this->world.abort(status);
          },
          [this] { writeFlights(faultError("interrupted")); }) {
  world.setLastWords([this](const Status &status) {
    sayFailure(this->world, status);
    reportFailure(status);
  });
  flights.setFailureListener([this](const Status &status) { watchdog.fail(status); });
}

/// From the backend outwards: bytes change on the way, messages are checked, what happens is recorded, ranks fail.
Result<std::unique_ptr<Backend>> Instruments::instrument(std::unique_ptr<Backend> backend, int64_t ranks) {
  MW_TRY(faults.check(ranks).within("--fault"));
  numRanks = ranks;
  if (!options.faults.empty())
    backend = faults.disturbMessages(std::move(backend));
  if (options.checkMessages)
    backend = checkMessages(std::move(backend));
  backend = flights.record(std::move(backend));
  if (!options.faults.empty())
    backend = faults.disturbRanks(std::move(backend));
  return backend;
}

Instruments::~Instruments() { world.setLastWords({}); }

void Instruments::endRun() {
  std::lock_guard lock(writing);
  isOver = true;
}

bool Instruments::writeFlights(const Status &status) {
  std::lock_guard lock(writing);
  if (isOver)
    return false;
  auto written = flights.write(options.flightRecorder, status);
  if (!written.ok())
    fmt::print(stderr, "dist-run: warning: {}\n", written.status().message());
  // The first reason is the one that counts.
  isOver = written.ok() && *written != 0;
  return isOver;
}

/// Those of this process's ranks, and of the others as far as their files come soon.
std::vector<FlightState> Instruments::collectStates() const {
  std::vector<FlightState> states = flights.getStates();
  if (!world.isAlone())
    addFlightStates(options.flightRecorder, begin, numRanks, othersPatience, states);
  return states;
}

void Instruments::reportFailure(const Status &status) {
  if (status.code() != Code::Fault || !writeFlights(status) || !world.isFirst())
    return;
  std::string disagreement = describeDisagreement(collectStates());
  if (!disagreement.empty())
    fmt::print(stderr, "dist-run: {}\n", disagreement);
  fmt::print(stderr, "dist-run: what each rank did last is in {}/flight-RANK.json\n", options.flightRecorder);
}
