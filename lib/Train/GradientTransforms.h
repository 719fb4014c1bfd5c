//===- GradientTransforms.h - transforms of optimizers ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An optimizer is a list of transforms. Each prepares the values that all parameters share, given all gradients; then
// the parameters pass through the whole list one by one, so that few updates are alive at a time.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_TRAIN_GRADIENTTRANSFORMS_H
#define MESHWRIGHT_LIB_TRAIN_GRADIENTTRANSFORMS_H

#include "Program.h"
#include "dialects/Net/NetBuilder.h"
#include "meshwright/Train/Passes.h"
#include <memory>

namespace meshwright::train {

/// A parameter, its value in this step, and its gradient as transformed so far.
struct Update {
  net::VariableOp parameter;
  mlir::Value value;
  mlir::Value update;
  /// True if weight decay applies.
  bool decays = true;
};

/// Shared by all transforms: the builder, the scalars of the step and the state variables.
class UpdateBuilder {
public:
  /// New variables are inserted after the last one of `module`, their reads after the last read of `func`. `scalarType`
  /// is the element type of scalars.
  UpdateBuilder(RoleBuilder &builder, mlir::ModuleOp module, mlir::func::FuncOp func, mlir::FloatType scalarType);

  /// Creates optimizer state like `parameter`, with all elements initially `initial`. Returns its value in this step.
  mlir::Value readState(llvm::StringRef prefix, net::VariableOp parameter, double initial = 0);
  /// As above, for a shape that has size 1 in some dimensions of the parameter.
  mlir::Value readState(llvm::StringRef prefix, net::VariableOp parameter, llvm::ArrayRef<int64_t> shape,
                        double initial = 0);
  /// Creates a buffer like `parameter`, initially 0. Returns its value in this step.
  mlir::Value readBuffer(llvm::StringRef prefix, net::VariableOp parameter);
  /// Assigns the next value of the state.
  void assignState(llvm::StringRef prefix, net::VariableOp parameter, mlir::Value value);
  /// The number of updates before this one, a scalar. Creates the counter on the first call.
  mlir::Value getCount();
  /// Converts `scalar` to the element type of `like` and broadcasts it to its shape.
  static mlir::Value broadcastLike(net::NetBuilder &build, mlir::Value scalar, mlir::Value like);
  /// Builders at the location of the parameter, and at that of the function.
  net::NetBuilder at(net::VariableOp parameter) { return {builder, parameter.getLoc()}; }
  net::NetBuilder atStep() { return {builder, func.getLoc()}; }
  /// True if a variable could not be created; the error has been emitted.
  bool hasFailed() const { return failed; }

  RoleBuilder &builder;
  /// The element type of scalars.
  const mlir::FloatType scalarType;

private:
  mlir::Value read(net::VariableOp variable);
  net::VariableOp makeVariable(mlir::Location location, llvm::StringRef name, net::VariableKind kind,
                               mlir::RankedTensorType type, double initial, mlir::FlatSymbolRefAttr like);

  /// Emits an error if a symbol of that name exists; a function of that name is renamed instead.
  void claimName(mlir::Location location, llvm::StringRef name);

  mlir::func::FuncOp func;
  mlir::SymbolTable symbols;
  mlir::Operation *lastVariable = nullptr, *lastRead = nullptr;
  bool failed = false;
  mlir::Value count;
};

/// One transform on the way from gradients to updates.
class GradientTransform {
public:
  virtual ~GradientTransform() = default;
  /// Builds the values that all parameters share.
  virtual void prepare(UpdateBuilder &step, llvm::ArrayRef<Update> updates) {}
  /// Transforms the update of one parameter.
  virtual void apply(UpdateBuilder &step, Update &update) = 0;
};

using GradientTransforms = llvm::SmallVector<std::unique_ptr<GradientTransform>>;

/// The transforms of an optimizer, in order. The result of the last one is subtracted from the parameter. The learning
/// rate gets the name `lr` if `namesRate` is set. Muon only supports matrices; the caller selects them.
GradientTransforms makeTransforms(const OptimizerPassOptions &options, bool namesRate);

/// The transforms that clip gradients before the optimizer.
GradientTransforms makeClipping(const OptimizerPassOptions &options);

/// Scales all gradients so that their norm, taken as one vector, is at most `bound`.
std::unique_ptr<GradientTransform> makeClipByGlobalNorm(double bound);

/// Adafactor's scaling by mean squares. Stores only those of rows and columns if two dimensions have at least `minDim`
/// indices. Bounds the root mean square of the result.
std::unique_ptr<GradientTransform> makeScaleByFactoredMoments(const OptimizerPassOptions &options);

/// Muon: orthogonalizes the moving average of gradients, so that its singular values are near 1.
std::unique_ptr<GradientTransform> makeOrthogonalize(const OptimizerPassOptions &options);

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

/// The sum of the squares of all elements; a scalar.
mlir::Value sumOfSquares(net::NetBuilder &build, mlir::Value x);
/// The root mean square of all elements; a scalar.
mlir::Value rootMeanSquare(net::NetBuilder &build, mlir::Value x);
/// decay · old + (1 − decay) · fresh.
mlir::Value blend(net::NetBuilder &build, mlir::Value fresh, mlir::Value old, double decay);
/// 1 − decayⁿ for the n-th update, or for the update `ahead` updates later; a scalar.
mlir::Value biasCorrection(UpdateBuilder &step, double decay, int ahead = 0);
/// `moment` divided by the scalar `correction`.
mlir::Value correctBias(net::NetBuilder &build, mlir::Value moment, mlir::Value correction);

} // namespace meshwright::train

#endif
