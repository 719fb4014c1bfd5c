//===- StubPackages.h - packages that run on the stub -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TEST_UNIT_CUDA_STUBPACKAGES_H
#define MESHWRIGHT_TEST_UNIT_CUDA_STUBPACKAGES_H

#include "OffloadPackage.h"
#include "test/unit/Runtime/EpiloguePackage.h"
#include "test/unit/Runtime/PipelinePackage.h"
#include "test/unit/Runtime/PipelineRun.h"
#include "test/unit/Runtime/TestPackage.h"
#include <functional>

namespace meshwright::test {

struct NamedPackage {
  std::string name;
  std::function<Package()> make;
};

/// Collectives that are executed and started, roots and owners, accumulation and micro-batches, sends between stages
/// with slots, copies between the memories, and products with epilogues.
inline std::vector<NamedPackage> getStubPackages() {
  auto makePipeline = [](schedule::OrderKind kind) {
    schedule::OrderShape shape;
    shape.ranks = 3;
    shape.microBatches = 4;
    return makePipelinePackage(getOrder(kind, shape));
  };
  return {{"Plain", [] { return makePackage(); }},
          {"Overlapped", [] { return makePackage(Fault::None, Style::Overlapped); }},
          {"Owned", [] { return makePackage(Fault::None, Style::Owned); }},
          {"Accumulation", [] { return makeAccumulationPackage({2, 2, 3, 2}); }},
          {"Pipeline", [=] { return makePipeline(schedule::OrderKind::OneForwardOneBackward); }},
          {"Offload", [] { return makeOffloadPackage(); }},
          {"Epilogue", [] { return makeEpiloguePackage(); }}};
}

} // namespace meshwright::test

#endif
