//===- Classes.h - coordinates that belong together -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SUPPORT_CLASSES_H
#define MESHWRIGHT_SUPPORT_CLASSES_H

#include "mlir/IR/BuiltinAttributes.h"

namespace meshwright {

/// The coordinates of an axis that the same lists name.
struct CoordinateClass {
  /// False if no list names them.
  bool isNamed;
  /// In ascending order.
  llvm::SmallVector<int64_t> coordinates;
};

/// Divides the coordinates 0 to before `size` into classes of those that the same `lists` (DenseI64ArrayAttr) name, in
/// the order of the first of each.
llvm::SmallVector<CoordinateClass> divideByLists(int64_t size, llvm::ArrayRef<mlir::Attribute> lists);

} // namespace meshwright

#endif
