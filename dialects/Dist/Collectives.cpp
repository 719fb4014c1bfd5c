//===- Collectives.cpp - the kinds of collectives -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Collectives.h"
#include "dialects/Dist/Regrouping.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;

FailureOr<CollectiveKind> dist::parseCollectiveKind(AsmParser &parser) {
  StringRef name;
  SMLoc loc = parser.getCurrentLocation();
  if (failed(parser.parseKeyword(&name)))
    return failure();
  for (const auto &[index, row] : llvm::enumerate(kCollectives))
    if (name == row.name)
      return static_cast<CollectiveKind>(index);
  auto error = parser.emitError(loc) << "\"" << name << "\" is not a kind of collective: ";
  llvm::interleaveComma(kCollectives, error, [&](const CollectiveTraits &row) { error << row.name; });
  return error;
}

std::optional<CollectiveKind> dist::getCollectiveKind(ConversionOpInterface op) {
  return llvm::TypeSwitch<Operation *, std::optional<CollectiveKind>>(op)
#define COLLECTIVE(KIND, PACKAGED, NAME, OPERATION, BEFORE, AFTER, CROSSINGS)                                          \
  .Case<OPERATION>([](auto) { return CollectiveKind::KIND; })
#include "meshwright/runtime/Collectives.def"
      .Default([](auto) { return std::nullopt; });
}

double dist::getSentBytes(CollectiveKind kind, double bytes, int64_t n) {
  return bytes * static_cast<double>(countCrossings(kind, n)) / static_cast<double>(n);
}

int64_t dist::countElements(CollectiveKind kind, const Placement &from, const Placement &to, ArrayRef<Axis> axes,
                            ArrayRef<int64_t> shape, const Mesh &mesh) {
  auto count = [&](const Placement &placement) {
    int64_t elements = 1;
    for (int64_t size : placement.getLocalShape(shape))
      elements *= size;
    return elements;
  };
  int64_t elements = std::max(count(from), count(to));
  if (kind != CollectiveKind::AllToAll)
    return elements;
  Axis axis = axes.front();
  unsigned dim = from.findSplit(axis)->first;
  if (dim != to.findSplit(axis)->first)
    return elements;
  std::optional<Regrouping> regrouping =
      Regrouping::find(shape[dim], from.dims[dim], to.dims[dim], axis, mesh.getSize(axis));
  return regrouping ? elements / regrouping->numUnits * regrouping->slots * regrouping->n : elements;
}
