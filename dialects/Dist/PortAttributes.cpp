//===- PortAttributes.cpp - attributes of arguments and results -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PortAttributes.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;

static func::FuncOp getFunction(BlockArgument argument) {
  return cast<func::FuncOp>(argument.getOwner()->getParentOp());
}

Attribute PortAttributes::get(BlockArgument argument, StringRef name) const {
  func::FuncOp func = getFunction(argument);
  const auto *found = arguments.find(func);
  if (found != arguments.end())
    return found->second[argument.getArgNumber()].get(name);
  return func.getArgAttr(argument.getArgNumber(), name);
}

void PortAttributes::set(BlockArgument argument, StringRef name, Attribute value) {
  func::FuncOp func = getFunction(argument);
  auto [entry, isNew] = arguments.try_emplace(func);
  if (isNew)
    for (unsigned index = 0; index < func.getNumArguments(); ++index)
      entry->second.emplace_back(func.getArgAttrDict(index));
  entry->second[argument.getArgNumber()].set(name, value);
}

void PortAttributes::setResult(func::FuncOp func, unsigned result, StringRef name, Attribute value) {
  auto [entry, isNew] = results.try_emplace(func);
  if (isNew)
    for (unsigned index = 0; index < func.getNumResults(); ++index)
      entry->second.emplace_back(func.getResultAttrDict(index));
  entry->second[result].set(name, value);
}

static SmallVector<DictionaryAttr> getDictionaries(ArrayRef<NamedAttrList> lists, MLIRContext *context) {
  return llvm::map_to_vector(lists, [&](const NamedAttrList &list) { return list.getDictionary(context); });
}

void PortAttributes::write() {
  for (auto &[op, lists] : arguments)
    cast<func::FuncOp>(op).setAllArgAttrs(getDictionaries(lists, op->getContext()));
  for (auto &[op, lists] : results)
    cast<func::FuncOp>(op).setAllResultAttrs(getDictionaries(lists, op->getContext()));
  arguments.clear();
  results.clear();
}
