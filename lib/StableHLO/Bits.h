//===- Bits.h - unsigned integer arithmetic for converters ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_STABLEHLO_BITS_H
#define MESHWRIGHT_LIB_STABLEHLO_BITS_H

#include "Conversion.h"

namespace meshwright::importer {

/// Builds expressions of unsigned integers, whose widths are those of elements.
class Bits : public Expression {
public:
  using Expression::Expression;

  mlir::Type type(unsigned width) { return build.builder.getIntegerType(width, /*isSigned=*/false); }
  /// A constant of the type of `like`.
  mlir::Value number(mlir::Value like, uint64_t value) {
    mlir::RankedTensorType type = net::typeOf(like);
    mlir::Attribute element =
        mlir::IntegerAttr::get(type.getElementType(), llvm::APInt(type.getElementTypeBitWidth(), value));
    return net::ConstantOp::create(build.builder, build.location, type, mlir::DenseElementsAttr::get(type, element));
  }
  mlir::Value shiftRight(mlir::Value x, uint64_t by) {
    return build.binary<net::ShiftRightLogicalOp>(x, number(x, by));
  }
  mlir::Value shiftLeft(mlir::Value x, uint64_t by) { return build.binary<net::ShiftLeftOp>(x, number(x, by)); }
  mlir::Value both(mlir::Value x, mlir::Value y) { return build.binary<net::OrOp>(x, y); }
  mlir::Value differ(mlir::Value x, mlir::Value y) { return build.binary<net::XorOp>(x, y); }
  mlir::Value plus(mlir::Value x, uint64_t y) { return build.add(x, number(x, y)); }
  /// The lower and the upper 32 bits of 64.
  mlir::Value low(mlir::Value x) { return build.convert(x, type(32)); }
  mlir::Value high(mlir::Value x) { return build.convert(shiftRight(x, 32), type(32)); }
  mlir::Value join(mlir::Value low, mlir::Value high) {
    return both(build.convert(low, type(64)), shiftLeft(build.convert(high, type(64)), 32));
  }
  /// Reinterprets the bits as elements of type `element`, which has the same width.
  mlir::Value read(mlir::Value x, mlir::Type element) {
    if (net::elementTypeOf(x) == element)
      return x;
    return net::BitcastConvertOp::create(build.builder, build.location, net::typeOf(x).clone(element), x);
  }
  /// Element `index` of the last dimension, which is dropped.
  mlir::Value take(mlir::Value x, int64_t index) {
    llvm::ArrayRef<int64_t> shape = net::shapeOf(x);
    llvm::SmallVector<int64_t> starts(shape.size(), 0), limits(shape), steps(shape.size(), 1);
    starts.back() = index;
    limits.back() = index + 1;
    return build.reshape(build.slice(x, starts, limits, steps), shape.drop_back());
  }
  /// The row-major index of every element; with `paired`, the index of every pair of neighbours along that dimension.
  mlir::Value countElements(llvm::ArrayRef<int64_t> shape, std::optional<int64_t> paired = std::nullopt);
};

} // namespace meshwright::importer

#endif
