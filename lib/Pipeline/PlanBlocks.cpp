//===- PlanBlocks.cpp - the part of a plan about repeated blocks ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanBlocks.h"
#include "dialects/Net/Net.h"
#include "meshwright/Support/Scopes.h"
#include "meshwright/Support/Units.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace meshwright;

static std::string getBlock(Operation *op) {
  auto scope = net::kScopeAttr.get(op);
  return scope ? findBlock(scope).str() : "";
}

void meshwright::addFlops(PlannedBlocks &blocks, Operation *op, double flops) {
  if (net::kRecomputesAttr.isOn(op))
    blocks[getBlock(op)].recomputeFlops += flops;
  else if (net::getRole(op) == net::Role::Forward)
    blocks[getBlock(op)].forwardFlops += flops;
}

void meshwright::addKept(PlannedBlocks &blocks, const schedule::Report &report) {
  for (auto [value, bytes] : report.kept)
    blocks[getBlock(value.getDefiningOp())].keptBytes += bytes;
}

void meshwright::setKept(PlannedBlocks &blocks, const schedule::Report &report) {
  int64_t sum = 0;
  for (auto [value, bytes] : report.kept)
    sum += bytes;
  if (sum < sumBlocks(blocks).keptBytes)
    return;
  for (auto &[name, block] : blocks)
    block.keptBytes = 0;
  addKept(blocks, report);
}

PlannedBlock meshwright::sumBlocks(const PlannedBlocks &blocks) {
  PlannedBlock sum;
  for (const auto &[name, block] : blocks) {
    sum.forwardFlops += block.forwardFlops;
    sum.recomputeFlops += block.recomputeFlops;
    sum.keptBytes += block.keptBytes;
  }
  return sum;
}

void meshwright::printBlocks(llvm::json::OStream &json, const PlannedBlocks &blocks) {
  json.attributeArray("blocks", [&] {
    for (const auto &[name, block] : blocks)
      json.object([&, &name = name, &block = block] {
        json.attribute("forward_flops", block.forwardFlops);
        json.attribute("kept_bytes", block.keptBytes);
        json.attribute("name", name);
        json.attribute("recompute_flops", block.recomputeFlops);
      });
  });
}

void meshwright::printBlocks(llvm::raw_ostream &out, const PlannedBlocks &blocks) {
  PlannedBlock sum = sumBlocks(blocks);
  out << "kept for backward: " << formatBytes(sum.keptBytes)
      << "; computed again: " << formatOperations(sum.recomputeFlops) << " beside "
      << formatOperations(sum.forwardFlops) << " of forward\n";
}
