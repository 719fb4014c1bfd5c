//===- Attributes.h - discardable attributes that are declared --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stages talk by discardable attributes. Attributes.td declares each of them once; the dialects' headers have their
// names, with which they are read and written, and their verifiers refuse what is not declared.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECTS_ATTRIBUTES_ATTRIBUTES_H
#define MESHWRIGHT_DIALECTS_ATTRIBUTES_ATTRIBUTES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectInterface.h"
#include "mlir/IR/Operation.h"

namespace meshwright {

/// The name of a discardable attribute of type `AttrT`, as an MLIR string and as an accessor.
template <typename AttrT> class AttributeName : public llvm::StringLiteral {
public:
  constexpr explicit AttributeName(llvm::StringLiteral name) : StringLiteral(name) {}

  /// The attribute of `op`; null where it has none.
  AttrT get(mlir::Operation *op) const { return llvm::dyn_cast_or_null<AttrT>(op->getDiscardableAttr(*this)); }
  /// The attribute of an argument or a result of `func`; null where it has none.
  AttrT getOfArgument(mlir::func::FuncOp func, unsigned index) const {
    return func.getArgAttrOfType<AttrT>(index, *this);
  }
  AttrT getOfResult(mlir::func::FuncOp func, unsigned index) const {
    return func.getResultAttrOfType<AttrT>(index, *this);
  }
  bool isOn(mlir::Operation *op) const { return static_cast<bool>(op->getDiscardableAttr(*this)); }
  void set(mlir::Operation *op, AttrT value) const { op->setDiscardableAttr(*this, value); }
  void remove(mlir::Operation *op) const { op->removeDiscardableAttr(*this); }
  /// Gives `made` the attribute of `origin`, where that has it.
  void copy(mlir::Operation *origin, mlir::Operation *made) const {
    if (mlir::Attribute attribute = origin->getDiscardableAttr(*this))
      made->setDiscardableAttr(*this, attribute);
  }
};

/// The form of an inheritance; see `Inheritance` in AttributesBase.td.
struct InheritanceRule {
  bool inheritsAll;
  bool keepsOwn;
  bool removesOthers;
};

#include "dialects/Attributes/Inheritance.h.inc"

/// A row of the generated tables.
struct AttributeDeclaration {
  llvm::StringLiteral name;
  /// The type and the places, in words.
  llvm::StringLiteral type;
  llvm::StringLiteral places;
  /// The names of the operations that may have the attribute, beside those places.
  llvm::ArrayRef<llvm::StringLiteral> ops;
  bool onOperations;
  bool onArguments;
  bool onResults;
  /// Bit k says that the inheritance of number k inherits the attribute.
  unsigned inheritances;
  bool (*isOfType)(mlir::Attribute attribute);
};

/// The declarations of a dialect's attributes. The dialect's verifiers call those here.
class AttributeContract : public mlir::DialectInterface::Base<AttributeContract> {
public:
  AttributeContract(mlir::Dialect *dialect, llvm::ArrayRef<AttributeDeclaration> declarations);

  /// The declaration of an attribute; null where there is none.
  const AttributeDeclaration *find(mlir::StringAttr name) const { return byName.lookup(name); }

  /// Refuse an attribute that is not declared, is of another type, or stands in another place.
  llvm::LogicalResult verifyOperation(mlir::Operation *op, mlir::NamedAttribute attribute) const;
  llvm::LogicalResult verifyArgument(mlir::Operation *op, unsigned index, mlir::NamedAttribute attribute) const;
  llvm::LogicalResult verifyResult(mlir::Operation *op, unsigned index, mlir::NamedAttribute attribute) const;

private:
  /// Names are unique in a context, so that a look-up compares no characters.
  llvm::DenseMap<mlir::StringAttr, const AttributeDeclaration *> byName;
};

/// The discardable attributes of `origin` that an operation inherits.
mlir::DictionaryAttr getInherited(mlir::Operation *origin, Inherit inheritance);

/// Gives `made` the discardable attributes that it inherits from `origin`. Its own that `origin` lacks stay, unless the
/// inheritance removes them.
void inherit(mlir::Operation *made, mlir::Operation *origin, Inherit inheritance);

/// Gives new operations the location of the operation that they replace, and what companions inherit from it.
struct InheritingListener : mlir::OpBuilder::Listener {
  explicit InheritingListener(mlir::Operation *from) : from(from) {}
  void notifyOperationInserted(mlir::Operation *op, mlir::OpBuilder::InsertPoint previous) override;

  mlir::Operation *from;
  /// In the order of their creation.
  llvm::SmallVector<mlir::Operation *> made;
};

/// Removes from `clone`, which has all attributes of its origin, those that it does not inherit.
void forget(mlir::Operation *clone, Inherit inheritance);

} // namespace meshwright

#endif
