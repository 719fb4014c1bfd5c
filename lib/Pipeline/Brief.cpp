//===- Brief.cpp - programs as people read them ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stages talk through attributes that a reader seldom wants: roles, scopes, offsets, reasons. `--print=brief` leaves
// them out, and keeps what says which value a line is about and where it is: names, placements and times.
//
//===----------------------------------------------------------------------===//

#include "Brief.h"
#include "dialects/Dist/Dist.h"
#include "dialects/Net/Net.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace meshwright;

static bool isShown(NamedAttribute attribute) {
  constexpr StringRef kShown[] = {net::kNameAttr,      dist::kMappingAttr,  dist::kResultsAttr,
                                  dist::kOperandsAttr, dist::kComputesAttr, dist::kDuringAttr};
  return llvm::is_contained(kShown, attribute.getName());
}

static DictionaryAttr getShown(DictionaryAttr attributes) {
  SmallVector<NamedAttribute> shown(llvm::make_filter_range(attributes, isShown));
  return DictionaryAttr::get(attributes.getContext(), shown);
}

static DictionaryAttr getShownOrEmpty(DictionaryAttr attributes, MLIRContext *context) {
  return attributes ? getShown(attributes) : DictionaryAttr::get(context);
}

void meshwright::makeBrief(ModuleOp module) {
  module->walk([](Operation *op) {
    op->setDiscardableAttrs(getShown(op->getDiscardableAttrDictionary()));
    auto func = dyn_cast<FunctionOpInterface>(op);
    if (!func)
      return;
    for (unsigned i = 0; i != func.getNumArguments(); ++i)
      func.setArgAttrs(i, getShownOrEmpty(func.getArgAttrDict(i), op->getContext()));
    for (unsigned i = 0; i != func.getNumResults(); ++i)
      func.setResultAttrs(i, getShownOrEmpty(func.getResultAttrDict(i), op->getContext()));
  });
}
