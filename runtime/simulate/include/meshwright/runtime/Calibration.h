//===- Calibration.h - a machine's model, measured --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_CALIBRATION_H
#define MESHWRIGHT_RUNTIME_CALIBRATION_H

#include "meshwright/runtime/MachineModel.h"
#include "meshwright/runtime/Session.h"

namespace meshwright::runtime {

/// The host of every rank, as numbers from 0 on in the order of the ranks; on all processes, which call it together.
Result<std::vector<uint32_t>> findHosts(World &world, int64_t numRanks);

/// Runs some steps of a session, whose inputs are fed, and fits the model to what their instructions and collectives
/// take. On GPUs, and in a run of several processes, computation is what traces show; on threads of one process, CPU
/// time. A collective counts from when its last member has come. Variables change as in any steps. The first process
/// has the model.
Result<MachineModel> calibrate(Session &session, int steps);

/// The cost of each instruction of a step at a position of an accumulation on the machine, without the links.
StepProfile estimateStep(const Session &session, uint32_t position, const MachineModel &machine);

} // namespace meshwright::runtime

#endif
