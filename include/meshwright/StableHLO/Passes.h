//===- Passes.h - from StableHLO to net ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes of the stage Import.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_STABLEHLO_PASSES_H
#define MESHWRIGHT_STABLEHLO_PASSES_H

#include "dialects/Net/Net.h"
#include "mlir/Pass/Pass.h"

namespace meshwright::importer {

#define GEN_PASS_DECL
#include "meshwright/StableHLO/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "meshwright/StableHLO/Passes.h.inc"

} // namespace meshwright::importer

#endif
