//===- Shardings.cpp - placements that the graph states -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shardings.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;

MappingAttr annotate::toMapping(given::ShardingAttr sharding) {
  MLIRContext *context = sharding.getContext();
  SmallVector<DigitsAttr> dims;
  for (unsigned dim = 0; dim < sharding.getRank(); ++dim) {
    SmallVector<DigitAttr> digits;
    for (auto axis : sharding.getAxes(dim).getAsRange<StringAttr>())
      digits.push_back(DigitAttr::getAxis(axis));
    dims.push_back(DigitsAttr::get(context, digits));
  }
  return MappingAttr::get(context, dims, ReduceKind::Sum, sharding.getUnreduced(), DictionaryAttr::get(context, {}));
}

StringAttr annotate::findDisagreement(given::ShardingAttr sharding, given::MeshAttr mesh, ArrayRef<DigitsAttr> dims,
                                      SmallVectorImpl<DigitsAttr> &added) {
  for (auto [dim, digits] : llvm::enumerate(dims)) {
    SmallVector<DigitAttr> rest;
    for (DigitAttr digit : digits) {
      StringAttr axis = digit.getAxis();
      if (axis && mesh.find(axis)) {
        std::optional<unsigned> stated = sharding.findDim(axis);
        if (stated == dim) {
          // A digit before it would make other parts of it.
          if (!rest.empty())
            return axis;
          continue;
        }
        if (stated || !sharding.isOpen(dim) || llvm::is_contained(sharding.getReplicated(), axis) ||
            llvm::is_contained(sharding.getUnreduced(), axis))
          return axis;
      }
      rest.push_back(digit);
    }
    added.push_back(DigitsAttr::get(sharding.getContext(), rest));
  }
  return {};
}
