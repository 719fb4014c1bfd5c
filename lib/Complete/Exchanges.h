//===- Exchanges.h - exchanges that recomputation repeats -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_COMPLETE_EXCHANGES_H
#define MESHWRIGHT_LIB_COMPLETE_EXCHANGES_H

#include "dialects/Dist/Dist.h"

namespace meshwright::complete {

/// True if both operations have a stage and `op` receives the result of `maker` from another one.
bool isReceived(mlir::Operation *maker, mlir::Operation *op);

/// Tells which conversions between placements of a placed program exchange data between ranks.
class Exchanges {
public:
  /// Without a mesh there are no exchanges. `mesh` must outlive this object.
  explicit Exchanges(const std::optional<dist::Mesh> &mesh) : mesh(mesh) {}

  /// True if a clone of `op` would repeat an exchange for `op`. A value received from another stage is received once,
  /// also for the clone.
  bool areRepeatedBy(mlir::Operation *op) const;
  /// True if backward reads a value as already exchanged for forward, which is available without recomputation.
  bool areShared(mlir::OpOperand &read) const;

private:
  bool areBetween(dist::MappingAttr from, dist::MappingAttr to, mlir::Value value) const;

  const std::optional<dist::Mesh> &mesh;
};

} // namespace meshwright::complete

#endif
