//===- Instruments.h - what watches and disturbs a run ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TOOLS_DISTRUN_INSTRUMENTS_H
#define MESHWRIGHT_TOOLS_DISTRUN_INSTRUMENTS_H

#include "Options.h"
#include "Watchdog.h"
#include "meshwright/runtime/Decorator.h"
#include "meshwright/runtime/Faults.h"
#include "meshwright/runtime/FlightRecorder.h"

namespace meshwright::tool {

/// The processes of a run with what the command line wants between their ranks, and the flight recorder. Outlives the
/// sessions that use it.
class Instruments {
public:
  Instruments(runtime::World &world, const Options &options);
  ~Instruments();
  runtime::World &getWorld() { return decorated; }
  /// The processes alone, for programs that run beside those that are disturbed and recorded.
  runtime::World &getBareWorld() { return world; }
  runtime::FlightRecorder &getFlights() { return flights; }

  /// The run has failed while the package is still there: writes the flight of every rank of this process, and says on
  /// the first process where the ranks disagree. Faults only; other errors say all there is.
  void reportFailure(const runtime::Status &status);
  /// The package is about to go, and with it the names of what ranks did.
  void endRun();

private:
  runtime::Result<std::unique_ptr<runtime::Backend>> instrument(std::unique_ptr<runtime::Backend> backend,
                                                                int64_t numRanks);
  bool writeFlights(const runtime::Status &status);
  std::vector<runtime::FlightState> collectStates() const;

  runtime::World &world;
  const Options &options;
  runtime::FaultPlan faults;
  runtime::FlightRecorder flights;
  runtime::WorldDecorator decorated;
  int64_t numRanks = 0;
  /// Guards the flights' files, and whether they are written or nothing is to be written any more.
  std::mutex writing;
  bool isOver = false;
  std::filesystem::file_time_type begin = std::filesystem::file_time_type::clock::now();
  /// Last, so that its thread ends before what it uses.
  Watchdog watchdog;
};

} // namespace meshwright::tool

#endif
