//===- Attributes.cpp - discardable attributes that are declared ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Attributes/Attributes.h"

using namespace mlir;
using namespace meshwright;

AttributeContract::AttributeContract(Dialect *dialect, ArrayRef<AttributeDeclaration> declarations) : Base(dialect) {
  for (const AttributeDeclaration &declaration : declarations)
    byName.try_emplace(StringAttr::get(dialect->getContext(), declaration.name), &declaration);
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

/// The attribute is declared and of its type. `where` names an argument or a result; it is empty for the operation.
static LogicalResult verifyValue(Operation *op, const Twine &where, NamedAttribute attribute,
                                 const AttributeDeclaration *declaration) {
  if (!declaration)
    return op->emitOpError() << where << "has \"" << attribute.getName().getValue()
                             << "\", which is not declared; docs/reference/attributes.md lists the attributes of "
                             << attribute.getNameDialect()->getNamespace();
  if (!declaration->isOfType(attribute.getValue()))
    return op->emitOpError() << where << "has \"" << declaration->name << "\" = " << attribute.getValue()
                             << ", but its type is " << declaration->type;
  return success();
}

static LogicalResult refusePlace(Operation *op, const Twine &where, const AttributeDeclaration &declaration) {
  return op->emitOpError() << where << "has \"" << declaration.name << "\", which belongs on " << declaration.places;
}

/// Functions, variables and the mesh stand in the module; their attributes are declared for them by name.
static bool isInFunction(Operation *op) {
  Operation *parent = op->getParentOp();
  return parent && !isa<ModuleOp>(parent);
}

LogicalResult AttributeContract::verifyOperation(Operation *op, NamedAttribute attribute) const {
  const AttributeDeclaration *declaration = find(attribute.getName());
  if (failed(verifyValue(op, "", attribute, declaration)))
    return failure();
  if ((declaration->onOperations && isInFunction(op)) ||
      llvm::is_contained(declaration->ops, op->getName().getStringRef()))
    return success();
  return refusePlace(op, "", *declaration);
}

LogicalResult AttributeContract::verifyArgument(Operation *op, unsigned index, NamedAttribute attribute) const {
  const AttributeDeclaration *declaration = find(attribute.getName());
  std::string where = ("argument " + Twine(index) + " ").str();
  if (failed(verifyValue(op, where, attribute, declaration)))
    return failure();
  return declaration->onArguments ? success() : refusePlace(op, where, *declaration);
}

LogicalResult AttributeContract::verifyResult(Operation *op, unsigned index, NamedAttribute attribute) const {
  const AttributeDeclaration *declaration = find(attribute.getName());
  std::string where = ("result " + Twine(index) + " ").str();
  if (failed(verifyValue(op, where, attribute, declaration)))
    return failure();
  return declaration->onResults ? success() : refusePlace(op, where, *declaration);
}

//===----------------------------------------------------------------------===//
// Inheritance
//===----------------------------------------------------------------------===//

static const InheritanceRule &getRule(Inherit inheritance) {
  return kInheritanceRules[static_cast<unsigned>(inheritance)];
}

static bool isInherited(NamedAttribute attribute, Inherit inheritance) {
  Dialect *dialect = attribute.getNameDialect();
  auto *contract = dialect ? dialect->getRegisteredInterface<AttributeContract>() : nullptr;
  const AttributeDeclaration *declaration = contract ? contract->find(attribute.getName()) : nullptr;
  if (!declaration)
    return getRule(inheritance).inheritsAll;
  return declaration->inheritances >> static_cast<unsigned>(inheritance) & 1;
}

static DictionaryAttr filter(DictionaryAttr all, Inherit inheritance) {
  SmallVector<NamedAttribute> inherited;
  for (NamedAttribute attribute : all)
    if (isInherited(attribute, inheritance))
      inherited.push_back(attribute);
  // A dictionary is sorted, and so is a part of it.
  return inherited.size() == all.size() ? all : DictionaryAttr::getWithSorted(all.getContext(), inherited);
}

DictionaryAttr meshwright::getInherited(Operation *origin, Inherit inheritance) {
  return filter(origin->getDiscardableAttrDictionary(), inheritance);
}

void meshwright::inherit(Operation *made, Operation *origin, Inherit inheritance) {
  const InheritanceRule &rule = getRule(inheritance);
  DictionaryAttr inherited = getInherited(origin, inheritance), own = made->getDiscardableAttrDictionary();
  if (own.empty())
    return made->setDiscardableAttrs(inherited);
  NamedAttrList all;
  for (NamedAttribute attribute : own)
    if (!rule.removesOthers || !isInherited(attribute, inheritance))
      all.append(attribute);
  for (NamedAttribute attribute : inherited)
    if (!rule.keepsOwn || !own.contains(attribute.getName()))
      all.set(attribute.getName(), attribute.getValue());
  made->setDiscardableAttrs(all.getDictionary(made->getContext()));
}

void InheritingListener::notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) {
  op->setLoc(from->getLoc());
  inherit(op, from, Inherit::Companion);
  made.push_back(op);
}

void meshwright::forget(Operation *clone, Inherit inheritance) {
  clone->setDiscardableAttrs(getInherited(clone, inheritance));
}
