//===- EmitTest.h - fixture of the tests of Emit ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TEST_UNIT_EMIT_EMITTEST_H
#define MESHWRIGHT_TEST_UNIT_EMIT_EMITTEST_H

#include "dialects/Dist/Dist.h"
#include "dialects/Net/Net.h"
#include "meshwright/Codegen/Targets.h"
#include "meshwright/Emit/Emit.h"
#include "meshwright/Rules/Rules.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <gtest/gtest.h>

namespace meshwright {

/// Has a context with all that is known of the operations of `net`, and with the dialects of kernels at hand.
class EmitTest : public ::testing::Test {
protected:
  EmitTest() {
    mlir::DialectRegistry registry;
    registry.insert<mlir::func::FuncDialect, dist::DistDialect, net::NetDialect>();
    emit::registerKernelDialects(registry);
    registerNetCosts(registry);
    registerNetKernels(registry);
    registerNetSharding(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  mlir::MLIRContext context;
};

} // namespace meshwright

#endif
