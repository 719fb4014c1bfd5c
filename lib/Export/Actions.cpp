//===- Actions.cpp - parts of the actions of a pipeline -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Actions.h"
#include "meshwright/Support/Programs.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::exporter;

func::FuncOp exporter::createPart(func::FuncOp source, const Twine &suffix, SymbolTable &symbols, IRMapping &mapping) {
  func::FuncOp func = cloneSignature(source, mapping);
  func.setSymName((source.getSymName() + suffix).str());
  dist::kActionAttr.set(func, Builder(func).getStringAttr(dist::kActionAttr.get(source).getValue() + suffix));
  symbols.insert(func, source->getIterator());
  return func;
}
