//===- Plan.cpp - what follows from a plan --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Plan.h"

using namespace meshwright;

double meshwright::getFlopsOfRanks(const Plan &plan) {
  double flops = 0;
  for (const PlannedProgram &program : plan.programs)
    flops += program.flops * static_cast<double>(program.numRanks);
  return flops;
}

int64_t meshwright::getPeakBytes(const Plan &plan) {
  int64_t peak = 0;
  for (const PlannedProgram &program : plan.programs)
    peak = std::max(peak, program.peakBytes.value_or(0));
  return peak;
}

PlannedBlocks meshwright::getBlocks(const Plan &plan) {
  PlannedBlocks blocks;
  for (const PlannedProgram &program : plan.programs)
    for (const auto &[name, block] : program.blocks) {
      PlannedBlock &entry = blocks[name];
      entry.forwardFlops = std::max(entry.forwardFlops, block.forwardFlops);
      entry.recomputeFlops = std::max(entry.recomputeFlops, block.recomputeFlops);
      entry.keptBytes = std::max(entry.keptBytes, block.keptBytes);
    }
  return blocks;
}
