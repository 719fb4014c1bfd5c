//===- Actions.cpp - parts of the actions of a pipeline -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Actions.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::exporter;

bool exporter::isAmong(DictionaryAttr on, StringRef axis, int64_t coordinate) {
  auto list = on ? on.getAs<DenseI64ArrayAttr>(axis) : DenseI64ArrayAttr();
  return !list || llvm::is_contained(list.asArrayRef(), coordinate);
}

func::FuncOp exporter::createPart(func::FuncOp source, const Twine &suffix, SymbolTable &symbols, IRMapping &mapping) {
  auto func = cast<func::FuncOp>(source->cloneWithoutRegions());
  func.setSymName((source.getSymName() + suffix).str());
  dist::kActionAttr.set(func, Builder(func).getStringAttr(dist::kActionAttr.get(source).getValue() + suffix));
  symbols.insert(func, source->getIterator());
  Block *entry = func.addEntryBlock();
  for (auto [before, after] : llvm::zip_equal(source.getArguments(), entry->getArguments())) {
    after.setLoc(before.getLoc());
    mapping.map(before, after);
  }
  return func;
}
