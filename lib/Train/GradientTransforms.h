//===- GradientTransforms.h - from gradients to updates ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An optimizer is a list of transformations. Each prepares what all parameters share, seeing all gradients; then one
// parameter after the other passes through the whole list, so that few updates are alive at a time.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_TRAIN_GRADIENTTRANSFORMS_H
#define MESHWRIGHT_LIB_TRAIN_GRADIENTTRANSFORMS_H

#include "Program.h"
#include "dialects/Net/NetBuilder.h"
#include <memory>

namespace meshwright::strategy {
class Clip;
} // namespace meshwright::strategy

namespace meshwright::train {

/// A parameter, its value in this step, and its gradient or what has become of it.
struct Update {
  net::VariableOp parameter;
  mlir::Value value;
  mlir::Value update;
  /// Whether weight decay applies.
  bool decays = true;
};

/// The state that transformations share: the builder, the scalars of the step and its state variables.
class UpdateBuilder {
public:
  /// Variables are added after the last one of `module`, their reads after the last read of `func`. `scalarType` is
  /// the element type of scalars.
  UpdateBuilder(RoleBuilder &builder, mlir::ModuleOp module, mlir::func::FuncOp func, mlir::FloatType scalarType);

  /// A variable of the optimizer that is like `parameter`, initially the same everywhere: its value in this step.
  mlir::Value readState(llvm::StringRef prefix, net::VariableOp parameter, double initial = 0);
  /// The same of a shape that has size 1 in some dimensions of the parameter.
  mlir::Value readState(llvm::StringRef prefix, net::VariableOp parameter, llvm::ArrayRef<int64_t> shape,
                        double initial = 0);
  /// A buffer that is like `parameter`, initially 0: its value in this step.
  mlir::Value readBuffer(llvm::StringRef prefix, net::VariableOp parameter);
  /// Assigns the state at the end of the step.
  void assignState(llvm::StringRef prefix, net::VariableOp parameter, mlir::Value value);
  /// Updates done before this one, a scalar; makes the counter when first asked.
  mlir::Value getCount();
  /// `scalar` in the type of `like`.
  static mlir::Value broadcastLike(net::NetBuilder &build, mlir::Value scalar, mlir::Value like);
  /// A builder at the parameter's location, and one at the function's.
  net::NetBuilder at(net::VariableOp parameter) { return {builder, parameter.getLoc()}; }
  net::NetBuilder atStep() { return {builder, func.getLoc()}; }
  /// Whether a variable could not be made, which has been reported.
  bool hasFailed() const { return failed; }

  RoleBuilder &builder;
  /// The element type of scalars.
  const mlir::FloatType scalarType;

private:
  mlir::Value read(net::VariableOp variable);
  net::VariableOp makeVariable(mlir::Location location, llvm::StringRef name, net::VariableKind kind,
                               mlir::RankedTensorType type, double initial, mlir::FlatSymbolRefAttr like);

  /// Reports a symbol that is there already; the function makes way.
  void claimName(mlir::Location location, llvm::StringRef name);

  mlir::func::FuncOp func;
  mlir::SymbolTable symbols;
  mlir::Operation *lastVariable = nullptr, *lastRead = nullptr;
  bool failed = false;
  mlir::Value count;
};

/// A step on the way from gradients to updates.
class GradientTransform {
public:
  virtual ~GradientTransform() = default;
  /// Builds what all parameters share.
  virtual void prepare(UpdateBuilder &step, llvm::ArrayRef<Update> updates) {}
  /// Transforms what the transformations before have made of one gradient.
  virtual void apply(UpdateBuilder &step, Update &update) = 0;
};

using GradientTransforms = llvm::SmallVector<std::unique_ptr<GradientTransform>>;

/// The transformations that bound the gradients before the optimizer sees them.
GradientTransforms makeClipping(const strategy::Clip &clip);

/// Scales all gradients so that their norm, all taken as one vector, is at most `bound`.
std::unique_ptr<GradientTransform> makeClipByGlobalNorm(double bound);

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

/// The sum of the squares of all elements, a scalar.
mlir::Value sumOfSquares(net::NetBuilder &build, mlir::Value x);
/// The root of their mean.
mlir::Value rootMeanSquare(net::NetBuilder &build, mlir::Value x);
/// decay · old + (1 − decay) · fresh.
mlir::Value blend(net::NetBuilder &build, mlir::Value fresh, mlir::Value old, double decay);
/// 1 − decayⁿ for the n-th update, or for one that comes `ahead` updates later; a scalar.
mlir::Value biasCorrection(UpdateBuilder &step, double decay, int ahead = 0);
/// `moment` over the scalar `correction`.
mlir::Value correctBias(net::NetBuilder &build, mlir::Value moment, mlir::Value correction);

} // namespace meshwright::train

#endif
