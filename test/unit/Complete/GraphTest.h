//===- GraphTest.h - tests of parts of the solver ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TEST_UNIT_COMPLETE_GRAPHTEST_H
#define MESHWRIGHT_TEST_UNIT_COMPLETE_GRAPHTEST_H

#include "dialects/Dist/Dist.h"
#include "dialects/Net/Net.h"
#include "lib/Complete/Graph.h"
#include "meshwright/Rules/Rules.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

namespace meshwright::test {

/// Numbers the functions of programs that are given as text.
class GraphTest : public ::testing::Test {
protected:
  GraphTest() {
    mlir::DialectRegistry registry;
    registry.insert<mlir::func::FuncDialect, dist::DistDialect, net::NetDialect>();
    registerNetSharding(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  /// Parses `text` and numbers its function; keeps the module alive.
  complete::Graph build(const std::string &text) {
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(module) << text;
    mesh = dist::findMesh(*module).getMesh();
    mlir::FailureOr<complete::Graph> graph =
        complete::Graph::build(*module->getOps<mlir::func::FuncOp>().begin(), mesh);
    EXPECT_TRUE(mlir::succeeded(graph)) << text;
    return *graph;
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  dist::Mesh mesh;
};

} // namespace meshwright::test

#endif
