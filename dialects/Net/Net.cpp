//===- Net.cpp - the net dialect ------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Net/Net.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::net;

/// Prints and parses a list of dimensions in square brackets.
static ParseResult parseDims(AsmParser &parser, SmallVector<int64_t> &dims) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                        [&] { return parser.parseInteger(dims.emplace_back()); });
}

static void printDims(AsmPrinter &printer, ArrayRef<int64_t> dims) {
  printer << "[";
  llvm::interleaveComma(dims, printer);
  printer << "]";
}

/// Prints and parses a number without its type, which is always f64.
static ParseResult parseDouble(AsmParser &parser, FloatAttr &value) {
  double number;
  if (parser.parseFloat(number))
    return failure();
  value = parser.getBuilder().getF64FloatAttr(number);
  return success();
}

static void printDouble(AsmPrinter &printer, FloatAttr value) { printer.printFloat(value.getValue()); }

#include "dialects/Net/NetDialect.cpp.inc"
#include "dialects/Net/NetEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Net/NetAttrs.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/Attributes/NetDiscardable.cpp.inc"
#include "dialects/Net/NetOps.cpp.inc"

std::optional<Role> net::getRole(Operation *op) {
  auto role = kRoleAttr.get(op);
  return role ? std::optional(role.getValue()) : std::nullopt;
}

void net::setRole(Operation *op, Role role) { kRoleAttr.set(op, RoleAttr::get(op->getContext(), role)); }

StringRef net::getUserName(Operation *op) {
  auto name = kNameAttr.get(op);
  return name ? name.getValue() : StringRef();
}

std::optional<Movement> net::getMovement(Operation *op) {
  if (op->hasTrait<Moves<Movement::Permutes>::Impl>())
    return Movement::Permutes;
  if (op->hasTrait<Moves<Movement::Repeats>::Impl>())
    return Movement::Repeats;
  if (op->hasTrait<Moves<Movement::Selects>::Impl>())
    return Movement::Selects;
  if (op->hasTrait<Moves<Movement::Joins>::Impl>())
    return Movement::Joins;
  return std::nullopt;
}

bool net::movesWhole(Operation *op) {
  std::optional<Movement> movement = getMovement(op);
  return movement == Movement::Permutes || movement == Movement::Repeats;
}

void NetDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Net/NetAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Net/NetOps.cpp.inc"
      >();
  addInterface(std::make_unique<AttributeContract>(this, kDeclarations));
}

LogicalResult NetDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  return getRegisteredInterface<AttributeContract>()->verifyOperation(op, attribute);
}

LogicalResult NetDialect::verifyRegionArgAttribute(Operation *op, unsigned, unsigned index, NamedAttribute attribute) {
  return getRegisteredInterface<AttributeContract>()->verifyArgument(op, index, attribute);
}

LogicalResult NetDialect::verifyRegionResultAttribute(Operation *op, unsigned, unsigned index,
                                                      NamedAttribute attribute) {
  return getRegisteredInterface<AttributeContract>()->verifyResult(op, index, attribute);
}
