//===- Times.cpp - axes of times, and the variants of a program -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Times.h"
#include "dialects/Dist/Support.h"
#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;

Mesh dist::joinAxes(const Mesh &first, const Mesh &second) {
  SmallVector<std::string> names;
  SmallVector<int64_t> sizes;
  SmallVector<AxisKind> kinds;
  for (const Mesh *mesh : {&first, &second})
    for (Axis axis = 0; axis < mesh->getNumAxes(); ++axis) {
      names.push_back(mesh->getName(axis).str());
      sizes.push_back(mesh->getSize(axis));
      kinds.push_back(mesh->getKind(axis));
    }
  return Mesh(names, sizes, kinds);
}

DictionaryAttr dist::getRanks(DictionaryAttr on, const Mesh &mesh) {
  if (!on)
    return on;
  NamedAttrList ranks(on);
  for (Axis axis = mesh.getNumRankAxes(); axis < mesh.getNumAxes(); ++axis)
    ranks.erase(mesh.getName(axis));
  return ranks.getDictionary(on.getContext());
}

Mesh dist::getMesh(func::FuncOp func) {
  auto module = func->getParentOfType<ModuleOp>();
  MeshOp mesh = module ? findMesh(module) : MeshOp();
  return mesh ? mesh.getMesh() : Mesh();
}

bool dist::hasTimes(func::FuncOp func) {
  DictionaryAttr on = getOn(func.getOperation());
  return getRanks(on, getMesh(func)) != on;
}

SmallVector<SmallVector<func::FuncOp>> dist::getVariants(ModuleOp module) {
  SmallVector<SmallVector<func::FuncOp>> variants;
  MeshOp meshOp = findMesh(module);
  Mesh mesh = meshOp ? meshOp.getMesh() : Mesh();
  llvm::DenseMap<Attribute, size_t> known;
  for (auto func : module.getOps<func::FuncOp>()) {
    if (func.isExternal())
      continue;
    DictionaryAttr on = getOn(func.getOperation()), ranks = getRanks(on, mesh);
    size_t index = variants.size();
    if (ranks != on || kActionAttr.isOn(func))
      index = known.try_emplace(ranks, index).first->second;
    if (index == variants.size())
      variants.emplace_back();
    variants[index].push_back(func);
  }
  return variants;
}

func::FuncOp dist::getResultFunction(ArrayRef<func::FuncOp> variants) {
  const auto *found = llvm::find_if(variants, [](func::FuncOp func) { return func.getNumResults() > 0; });
  return found == variants.end() ? variants.front() : *found;
}
