//===- Graph.cpp - the function that is the graph -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Graph.h"

using namespace mlir;
using namespace meshwright;

func::FuncOp importer::findGraph(ModuleOp module) {
  func::FuncOp graph;
  for (auto func : module.getOps<func::FuncOp>()) {
    if (!func.isPublic())
      continue;
    if (graph) {
      auto diagnostic = func.emitError() << "function @" << func.getSymName() << " is public, and so is @"
                                         << graph.getSymName() << "; a graph is one public function";
      diagnostic.attachNote(graph.getLoc()) << "the other is here";
      return {};
    }
    graph = func;
  }
  if (!graph) {
    module.emitError() << "there is no public function in the module; a graph is one, and its name is @main";
    return {};
  }
  if (!graph.getBody().hasOneBlock()) {
    graph.emitError() << "function @" << graph.getSymName() << " has " << graph.getBody().getBlocks().size()
                      << " blocks, not one";
    return {};
  }
  return graph;
}

std::string importer::joinScopes(StringRef outer, StringRef inner) {
  if (outer.empty() || inner.empty())
    return (outer + inner).str();
  return (outer + "." + inner).str();
}
