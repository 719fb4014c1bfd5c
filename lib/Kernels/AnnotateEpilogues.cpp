//===- AnnotateEpilogues.cpp - marks epilogues of GEMMs -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A library writes what it makes of a product while it still reads the operands, so they may not share memory: what is
// annotated here lives as long as that takes (Storage.h).
//
//===----------------------------------------------------------------------===//

#include "meshwright/Kernels/Passes.h"
#include "meshwright/Kernels/ProductEpilogue.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace meshwright::schedule {
#define GEN_PASS_DEF_ANNOTATEEPILOGUESPASS
#include "meshwright/Kernels/Passes.h.inc"
} // namespace meshwright::schedule

using namespace mlir;
using namespace meshwright;

namespace {

struct AnnotateEpiloguesPass : schedule::impl::AnnotateEpiloguesPassBase<AnnotateEpiloguesPass> {
  void runOnOperation() override {
    std::string reason;
    for (auto func : getOperation().getOps<func::FuncOp>())
      for (auto product : func.getOps<dist::MatmulOp>()) {
        dist::KernelOp kernel = schedule::getKernelBehind(product);
        if (!kernel || !schedule::findEpilogue(product, kernel, reason))
          continue;
        dist::kEpilogueAttr.set(product, UnitAttr::get(&getContext()));
        ++numEpilogues;
      }
  }
};

} // namespace
