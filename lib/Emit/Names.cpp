//===- Names.cpp - names and locations in reports -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Names.h"
#include "dialects/Net/Net.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::emit;

std::string emit::getLocationText(Location location) {
  std::string text;
  location->walk([&](Location inner) {
    auto file = dyn_cast<FileLineColLoc>(inner);
    if (!file)
      return WalkResult::advance();
    text = (file.getFilename().getValue() + ":" + Twine(file.getLine())).str();
    return WalkResult::interrupt();
  });
  return text;
}

StringRef emit::getName(Value value) {
  Operation *op = value.getDefiningOp();
  auto name = op ? net::kNameAttr.get(op) : StringAttr();
  return name && cast<OpResult>(value).getResultNumber() == 0 ? name.getValue() : StringRef();
}

std::string emit::getTitle(Operation *op) {
  for (StringRef attribute : {StringRef(net::kNameAttr), StringRef(net::kScopeAttr)})
    if (auto name = op->getAttrOfType<StringAttr>(attribute))
      return name.str();
  return op->getName().stripDialect().str();
}

std::string emit::getPartName(dist::CollectiveOp op, unsigned number) {
  auto names = dist::kPartsAttr.get(op);
  auto name = names && number < names.size() ? dyn_cast<StringAttr>(names[number]) : StringAttr();
  return name ? name.str() : getTitle(op);
}

std::string emit::getPartLocation(dist::CollectiveOp op, unsigned number) {
  auto fused = dyn_cast<FusedLoc>(op.getLoc());
  bool apart = fused && op.getNumParts() > 1 && fused.getLocations().size() == op.getNumParts();
  return getLocationText(apart ? fused.getLocations()[number] : Location(op.getLoc()));
}
