//===- Widening.h - gradients as converted sums -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_TRAIN_WIDENING_H
#define MESHWRIGHT_LIB_TRAIN_WIDENING_H

#include "dialects/Net/Net.h"
#include "llvm/ADT/SetVector.h"

namespace meshwright::train {

/// The operations at the end of a gradient's computation that convert it from another type: a conversion, or a sum of
/// conversions.
class Widening {
public:
  explicit Widening(mlir::Value gradient) { collect(gradient); }

  /// The only type before conversion; null if there are several.
  mlir::Type getSource() const { return sources.size() == 1 ? sources.front() : mlir::Type(); }
  /// Marks the collected operations as ones that partial sums pass.
  void setDefersReduction() const;

private:
  bool collect(mlir::Value value);

  llvm::SmallVector<mlir::Operation *> ops;
  llvm::SmallSetVector<mlir::Type, 2> sources;
};

} // namespace meshwright::train

#endif
