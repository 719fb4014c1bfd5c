//===- FlightText.h - a rank's last events for people -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_DIAGNOSE_FLIGHTTEXT_H
#define MESHWRIGHT_RUNTIME_DIAGNOSE_FLIGHTTEXT_H

#include "meshwright/runtime/FlightRecorder.h"

namespace meshwright::runtime {

/// Where a rank is; `firstStep` is the number of the first step that it ran.
FlightState getFlightState(const RankFlight &flight, uint64_t firstStep);
/// The file of a rank, as docs/reference/flight-recorder.md says.
std::string formatFlight(const RankFlight &flight, uint64_t firstStep, const Status &reason);

} // namespace meshwright::runtime

#endif
