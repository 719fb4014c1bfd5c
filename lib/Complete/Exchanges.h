//===- Exchanges.h - conversions that clones would repeat -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_COMPLETE_EXCHANGES_H
#define MESHWRIGHT_LIB_COMPLETE_EXCHANGES_H

#include "dialects/Dist/Dist.h"

namespace meshwright::complete {

/// Whether `op` receives what `maker` makes: both have a stage, and not the same.
bool isReceived(mlir::Operation *maker, mlir::Operation *op);

/// Reads in a placed program between which placements ranks exchange data.
class Exchanges {
public:
  /// Without a mesh there are none. It outlives this.
  explicit Exchanges(const std::optional<dist::Mesh> &mesh) : mesh(mesh) {}

  /// Whether a clone of `op` would make ranks exchange what they have exchanged for `op`. What a stage receives, it
  /// receives once, for the clone too.
  bool areRepeatedBy(mlir::Operation *op) const;
  /// Whether backward reads what ranks have exchanged for forward: it is there already, and kept as it is.
  bool areShared(mlir::OpOperand &read) const;

private:
  bool areBetween(dist::MappingAttr from, dist::MappingAttr to, mlir::Value value) const;

  const std::optional<dist::Mesh> &mesh;
};

} // namespace meshwright::complete

#endif
