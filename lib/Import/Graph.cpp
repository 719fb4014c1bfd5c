//===- Graph.cpp - the function that is the graph -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Graph.h"
#include "dialects/Net/Net.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace meshwright;

LogicalResult importer::verifyBody(func::FuncOp func) {
  if (!func.getBody().hasOneBlock())
    return func.emitError() << "function @" << func.getSymName() << " has " << func.getBody().getBlocks().size()
                            << " blocks, not one";
  Block &body = func.getBody().front();
  if (body.empty() || !isa<func::ReturnOp>(body.back()))
    return func.emitError() << "function @" << func.getSymName() << " does not end with its return";
  return success();
}

bool importer::isComputation(func::FuncOp func) {
  return func.getBody().hasOneBlock() && !func.getBody().front().empty() &&
         func.getBody().front().back().getName().getStringRef() == "stablehlo.return";
}

func::FuncOp importer::findGraph(ModuleOp module) {
  func::FuncOp graph;
  for (auto func : module.getOps<func::FuncOp>()) {
    // JAX prints what calls compare with as public.
    if (!func.isPublic() || isComputation(func))
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
  return succeeded(verifyBody(graph)) ? graph : func::FuncOp();
}

static bool isKnownElement(Type type) {
  auto integer = dyn_cast<IntegerType>(type);
  if (integer)
    return !integer.isSigned() && llvm::is_contained({1u, 8u, 16u, 32u, 64u}, integer.getWidth());
  return isa<Float64Type, Float32Type, Float16Type, BFloat16Type, Float8E4M3FNType, Float8E5M2Type,
             Float8E4M3B11FNUZType, Float8E4M3FNUZType, Float8E5M2FNUZType, Float8E4M3Type, Float8E3M4Type>(type);
}

std::optional<std::string> importer::getTypeProblem(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return "which is not a tensor of static shape";
  int64_t elements = 1;
  for (auto [dim, size] : llvm::enumerate(tensor.getShape())) {
    if (ShapedType::isDynamic(size))
      return ("whose dimension " + Twine(dim) + " has no size; export with static shapes").str();
    // Eight bytes each have to fit.
    if (llvm::MulOverflow(elements, size, elements) || elements > std::numeric_limits<int64_t>::max() / 8)
      return "which has more elements than 60 bits count";
  }
  if (tensor.getEncoding())
    return "whose encoding is not known";
  if (!isKnownElement(tensor.getElementType()))
    return "whose elements are not known; f64, f32, f16, bf16, floats of 8 bits with a mantissa, i1 and integers of 8, "
           "16, 32 and 64 bits are";
  return std::nullopt;
}

DictionaryAttr importer::getScopeAndRole(Operation *op) {
  DictionaryAttr all = op->getDiscardableAttrDictionary();
  SmallVector<NamedAttribute, 2> named;
  // The dictionary is sorted, and so is this.
  for (NamedAttribute attribute : all)
    if (attribute.getName() == net::kRoleAttr || attribute.getName() == net::kScopeAttr)
      named.push_back(attribute);
  return named.size() == all.size() ? all : DictionaryAttr::getWithSorted(op->getContext(), named);
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
