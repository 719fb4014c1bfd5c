//===- NetBuilder.h - builds expressions of net operations ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECTS_NET_NETBUILDER_H
#define MESHWRIGHT_DIALECTS_NET_NETBUILDER_H

#include "dialects/Net/Net.h"
#include "mlir/IR/Builders.h"

namespace meshwright::net {

/// Builds expressions of net operations at one location. Result types are inferred from the operands, and operations
/// that would be the identity are not built.
class NetBuilder {
public:
  using Value = mlir::Value;
  using Dims = llvm::ArrayRef<int64_t>;

  NetBuilder(mlir::OpBuilder &builder, mlir::Location location) : builder(builder), location(location) {}

  /// An elementwise operation whose result has the type of its operands.
  template <typename OpT> Value unary(Value x) { return OpT::create(builder, location, x.getType(), x); }
  template <typename OpT> Value binary(Value x, Value y) { return OpT::create(builder, location, x.getType(), x, y); }

  Value add(Value x, Value y) { return binary<AddOp>(x, y); }
  Value subtract(Value x, Value y) { return binary<SubtractOp>(x, y); }
  Value multiply(Value x, Value y) { return binary<MultiplyOp>(x, y); }
  Value divide(Value x, Value y) { return binary<DivideOp>(x, y); }
  Value negate(Value x) { return unary<NegateOp>(x); }

  /// A constant of `type` with `value` in every element, converted to the element type (rounded to nearest, cut to
  /// integers).
  Value splat(mlir::Type type, double value);
  /// A constant of the type of `like` with `value` in every element.
  Value splatLike(Value like, double value) { return splat(like.getType(), value); }
  /// `x` times a number; a number minus `x`.
  Value scale(Value x, double factor) { return multiply(splatLike(x, factor), x); }
  Value subtractFrom(double number, Value x) { return subtract(splatLike(x, number), x); }

  Value compare(CompareDirection direction, Value x, Value y);
  Value select(Value predicate, Value onTrue, Value onFalse);
  Value convert(Value x, mlir::Type elementType);

  /// Repeats `x`, whose dimension i becomes dimension `dims[i]`, to `shape`.
  Value broadcast(Value x, Dims shape, Dims dims);
  /// Repeats a scalar in every element.
  Value broadcast(Value scalar, Dims shape) { return broadcast(scalar, shape, {}); }
  Value reshape(Value x, Dims shape);
  Value transpose(Value x, Dims permutation);
  /// Reverses `x` along `dims`.
  Value reverse(Value x, Dims dims);
  Value slice(Value x, Dims starts, Dims limits, Dims steps);
  /// Elements [begin, end) of `x` along `dim`.
  Value cut(Value x, int64_t dim, int64_t begin, int64_t end);
  Value pad(Value x, double value, Dims low, Dims high, Dims interior);
  /// The box of `shape` in `x` that begins at `starts`, clamped; `x` with `box` written there.
  Value dynamicSlice(Value x, mlir::ValueRange starts, Dims shape);
  Value dynamicUpdateSlice(Value x, Value box, mlir::ValueRange starts);
  Value concatenate(mlir::ValueRange values, int64_t dim);
  Value reduce(ReduceKind kind, Value x, Dims dims);
  Value dot(Value lhs, Value rhs, Dims lhsBatch, Dims rhsBatch, Dims lhsContract, Dims rhsContract,
            mlir::Type elementType);
  /// The index along `dim` of every element of a tensor of `shape`.
  Value iota(mlir::Type elementType, Dims shape, int64_t dim);

  mlir::OpBuilder &builder;
  mlir::Location location;
};

/// The type, shape and element type of a value, which has to be a tensor.
inline mlir::RankedTensorType typeOf(mlir::Value value) { return llvm::cast<mlir::RankedTensorType>(value.getType()); }
inline llvm::ArrayRef<int64_t> shapeOf(mlir::Value value) { return typeOf(value).getShape(); }
inline mlir::Type elementTypeOf(mlir::Value value) { return typeOf(value).getElementType(); }
/// True if a value is a tensor of floats, and so may have a cotangent.
bool isFloat(mlir::Value value);

/// The constant that `value` is a chain of broadcasts and other layout operations of; null if there is none.
ConstantOp getConstant(mlir::Value value);
/// The float that every element of `value` is known to equal; nothing if it is not known.
std::optional<llvm::APFloat> getFloatSplat(mlir::Value value);
/// True if every element of `value` is known to be 0.
bool isZero(mlir::Value value);

} // namespace meshwright::net

#endif
