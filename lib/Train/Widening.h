//===- Widening.h - the types that gradients come from ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_TRAIN_WIDENING_H
#define MESHWRIGHT_LIB_TRAIN_WIDENING_H

#include "dialects/Net/Net.h"
#include "llvm/ADT/SetVector.h"

namespace meshwright::train {

/// How a gradient comes from values in other types: it is one of them, converted, or a sum of several.
class Widening {
public:
  explicit Widening(mlir::Value gradient) { collect(gradient); }

  /// The one type of what comes in; null where there are several.
  mlir::Type getSource() const { return sources.size() == 1 ? sources.front() : mlir::Type(); }
  /// Lets partial values pass all that the gradient is made by.
  void setTravels() const;

private:
  bool collect(mlir::Value value);

  llvm::SmallVector<mlir::Operation *> ops;
  llvm::SmallSetVector<mlir::Type, 2> sources;
};

} // namespace meshwright::train

#endif
