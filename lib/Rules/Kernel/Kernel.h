//===- Kernel.h - private to the kernel lowerings ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every operation becomes `linalg.generic`s of two forms, which the code generator fuses: parallel ones that read their
// inputs through affine maps, and reductions whose body combines the accumulator with one value. Element types are
// signless; whether an integer is unsigned is read from the type of the operation of `net`.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_RULES_KERNEL_KERNEL_H
#define MESHWRIGHT_LIB_RULES_KERNEL_KERNEL_H

#include "dialects/Dist/Interfaces.h"
#include "dialects/Net/Net.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace meshwright::kernel {

using Builder = mlir::ImplicitLocOpBuilder;
using Results = mlir::FailureOr<llvm::SmallVector<mlir::Value>>;
/// Computes an element of the result from elements of the inputs.
using Body = llvm::function_ref<mlir::Value(Builder &, mlir::ValueRange)>;

inline mlir::RankedTensorType typeOf(mlir::Value value) { return llvm::cast<mlir::RankedTensorType>(value.getType()); }
inline mlir::Type elementOf(mlir::Value value) { return typeOf(value).getElementType(); }
inline llvm::ArrayRef<int64_t> shapeOf(mlir::Value value) { return typeOf(value).getShape(); }

/// `type` with integers of no sign, as the arith dialect computes them.
mlir::Type getSignless(mlir::Type type);
mlir::RankedTensorType getSignless(mlir::RankedTensorType type);
/// True if integers of `type` are unsigned; i1 is.
bool isUnsigned(mlir::Type type);
/// The type that sums of `type` are taken in, and in which floats are compared: that of narrower floats is f32.
mlir::Type getAccumulator(mlir::Type type);
/// `value`, a scalar, rounded or extended from one float type to another.
mlir::Value convertFloat(Builder &builder, mlir::Value value, mlir::Type type);

/// A constant of `type`, a number or a vector's element.
mlir::Value constant(Builder &builder, mlir::Type type, double value);
mlir::Value constantInt(Builder &builder, mlir::Type type, const llvm::APInt &value);

/// The parallel form: result[i] = body(input[map(i)]...).
mlir::Value mapElements(Builder &builder, mlir::RankedTensorType result, mlir::ValueRange inputs,
                        llvm::ArrayRef<mlir::AffineMap> maps, Body body);
/// The parallel form with identity maps.
mlir::Value mapElements(Builder &builder, mlir::RankedTensorType result, mlir::ValueRange inputs, Body body);
/// The parallel form that only moves elements: result[i] = input[map(i)].
mlir::Value moveElements(Builder &builder, mlir::RankedTensorType result, mlir::Value input, mlir::AffineMap map);

/// The value that a reduction of `kind` starts from: the sum of nothing is +0, as in the networks that are exported,
/// and so is a sum of -0 alone. `type` may have a sign.
mlir::Value getNeutral(Builder &builder, ReduceKind kind, mlir::Type type);
/// Combines two scalars; `type` is theirs before signs were dropped.
mlir::Value combine(Builder &builder, ReduceKind kind, mlir::Type type, mlir::Value lhs, mlir::Value rhs);
/// The reduction form over the domain `shape`: result[map(i)] = combine(result[map(i)], body(input[maps(i)]...)). Of
/// inputs without elements it is the neutral element.
mlir::Value reduceElements(Builder &builder, ReduceKind kind, mlir::RankedTensorType result, mlir::AffineMap resultMap,
                           mlir::ValueRange inputs, llvm::ArrayRef<mlir::AffineMap> maps, Body body);

void registerConstants(mlir::MLIRContext *context);
void registerContraction(mlir::MLIRContext *context);
void registerDynamic(mlir::MLIRContext *context);
void registerElementwise(mlir::MLIRContext *context);
void registerGather(mlir::MLIRContext *context);
void registerLayout(mlir::MLIRContext *context);
void registerMatrix(mlir::MLIRContext *context);
void registerOrder(mlir::MLIRContext *context);
void registerReduction(mlir::MLIRContext *context);
void registerScatter(mlir::MLIRContext *context);
void registerWindow(mlir::MLIRContext *context);

} // namespace meshwright::kernel

#endif
