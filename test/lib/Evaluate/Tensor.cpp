//===- Tensor.cpp - values of the reference evaluator ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/lib/Evaluate/Tensor.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::evaluate;

double evaluate::roundTo(Type elementType, double value) {
  if (elementType.isF64())
    return value;
  if (elementType.isF32())
    return static_cast<float>(value);
  llvm::APFloat number(value);
  bool inexact;
  number.convert(cast<FloatType>(elementType).getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &inexact);
  number.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &inexact);
  return number.convertToDouble();
}

int64_t evaluate::wrapTo(Type elementType, int64_t value) {
  unsigned width = elementType.getIntOrFloatBitWidth();
  if (width == 64)
    return value;
  if (elementType.isUnsignedInteger() || width == 1)
    return value & ((int64_t(1) << width) - 1);
  return llvm::SignExtend64(static_cast<uint64_t>(value), width);
}

Tensor Tensor::fromAttribute(DenseElementsAttr attribute) {
  Tensor result(cast<RankedTensorType>(attribute.getType()));
  Type elementType = result.type.getElementType();
  size_t next = 0;
  if (result.isFloat()) {
    for (llvm::APFloat value : attribute.getValues<llvm::APFloat>()) {
      bool inexact;
      value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &inexact);
      result.data[next++].f = value.convertToDouble();
    }
    return result;
  }
  for (const llvm::APInt &value : attribute.getValues<llvm::APInt>())
    result.data[next++].i = wrapTo(elementType, static_cast<int64_t>(value.getZExtValue()));
  return result;
}

void evaluate::forEachIndex(Shape shape, llvm::function_ref<void(Shape)> visit) {
  if (llvm::is_contained(shape, 0))
    return;
  Index index(shape.size(), 0);
  while (true) {
    visit(index);
    int64_t dim = static_cast<int64_t>(shape.size()) - 1;
    while (dim >= 0 && ++index[dim] == shape[dim])
      index[dim--] = 0;
    if (dim < 0)
      return;
  }
}

int64_t evaluate::linearize(Shape shape, Shape index) {
  int64_t position = 0;
  for (auto [size, at] : llvm::zip_equal(shape, index))
    position = position * size + at;
  return position;
}
