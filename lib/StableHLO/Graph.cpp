//===- Graph.cpp - finds the graph, copies scopes and roles ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/StableHLO/Graph.h"
#include "dialects/Net/Net.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace meshwright;

bool importer::isComputation(func::FuncOp func) {
  return func.getBody().hasOneBlock() && !func.getBody().front().empty() &&
         func.getBody().front().back().getName().getStringRef() == "stablehlo.return";
}

func::FuncOp importer::findGraph(ModuleOp module) {
  func::FuncOp graph;
  for (auto func : module.getOps<func::FuncOp>()) {
    // JAX prints the comparators of custom calls as public functions.
    if (!func.isPublic() || isComputation(func))
      continue;
    if (graph) {
      auto diagnostic = func.emitError() << "function @" << func.getSymName() << " is public, and so is @"
                                         << graph.getSymName() << "; a graph has one public function";
      diagnostic.attachNote(graph.getLoc()) << "the other is here";
      return {};
    }
    graph = func;
  }
  if (!graph) {
    module.emitError() << "the module has no public function; a graph has one, mostly @main";
    return {};
  }
  return succeeded(verifyBody(graph)) ? graph : func::FuncOp();
}

void importer::addAttributes(Operation *op, DictionaryAttr added) {
  if (added.empty())
    return;
  DictionaryAttr own = op->getDiscardableAttrDictionary();
  if (own.empty()) {
    op->setDiscardableAttrs(added);
    return;
  }
  NamedAttrList all(own);
  for (NamedAttribute attribute : added)
    all.set(attribute.getName(), attribute.getValue());
  op->setDiscardableAttrs(all.getDictionary(op->getContext()));
}

std::string importer::joinScopes(StringRef outer, StringRef inner) {
  if (outer.empty() || inner.empty())
    return (outer + inner).str();
  return (outer + "." + inner).str();
}
