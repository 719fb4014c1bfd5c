//===- Tensor.h - values of the reference evaluator -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TEST_LIB_EVALUATE_TENSOR_H
#define MESHWRIGHT_TEST_LIB_EVALUATE_TENSOR_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include <vector>

namespace meshwright::evaluate {

/// A float as a double that its type can hold, or an integer: sign-extended, or zero-extended if it is of i1 or
/// unsigned.
union Element {
  double f;
  int64_t i;
};

using Shape = llvm::ArrayRef<int64_t>;
using Index = llvm::SmallVector<int64_t>;

/// A tensor in row-major order.
struct Tensor {
  Tensor() = default;
  /// Zeros.
  explicit Tensor(mlir::RankedTensorType type)
      : type(type), data(type.getNumElements(), isFloat() ? Element{.f = 0} : Element{.i = 0}) {}
  static Tensor fromAttribute(mlir::DenseElementsAttr attribute);

  bool isFloat() const { return llvm::isa<mlir::FloatType>(type.getElementType()); }
  /// True if integers are compared and divided as unsigned numbers.
  bool isUnsigned() const { return type.getElementType().isUnsignedInteger() || type.getElementType().isInteger(1); }
  Shape shape() const { return type.getShape(); }
  int64_t size() const { return static_cast<int64_t>(data.size()); }

  mlir::RankedTensorType type;
  std::vector<Element> data;
};

/// The value nearest to `value`, ties to even, that a float type holds.
double roundTo(mlir::Type elementType, double value);
/// `value` modulo two to the width of an integer type, extended as `Element` says.
int64_t wrapTo(mlir::Type elementType, int64_t value);

/// Calls `visit(index)` for every index of `shape` in row-major order.
void forEachIndex(Shape shape, llvm::function_ref<void(Shape)> visit);
/// The position of `index` in row-major order.
int64_t linearize(Shape shape, Shape index);

} // namespace meshwright::evaluate

#endif
