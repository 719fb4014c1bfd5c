//===- Simulator.h - all ranks of a partitioned program ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TEST_LIB_SIMULATE_SIMULATOR_H
#define MESHWRIGHT_TEST_LIB_SIMULATE_SIMULATOR_H

#include "dialects/Dist/Conversions.h"
#include "dialects/Net/Net.h"
#include "test/lib/Evaluate/Evaluate.h"

namespace meshwright::simulate {

/// The part of a value that each rank holds, by rank. The tensor of a rank without the value has no type.
using RankTensors = std::vector<evaluate::Tensor>;

/// Runs a partitioned program on all ranks in lock-step: operations of `net` by the evaluator, rank by rank,
/// conversions by their definition. What a rank holds beyond its part is NaN, or for integers some number, often one
/// that would do as an index, so that every reader gets a wrong result. Reading a value that a rank does not hold is an
/// error. A step goes through all slices of its batch.
class Simulator {
public:
  /// `module` has gone through Partition and has one public function.
  static mlir::FailureOr<Simulator> create(mlir::ModuleOp module);

  /// Gives a variable its whole value.
  mlir::LogicalResult setVariable(llvm::StringRef name, const evaluate::Tensor &whole);
  /// The whole value of a variable; the error says where ranks that should agree do not.
  mlir::FailureOr<evaluate::Tensor> getVariable(llvm::StringRef name);

  /// Runs a step from whole inputs to whole results.
  mlir::FailureOr<evaluate::Tensors> run(llvm::ArrayRef<evaluate::Tensor> inputs);

private:
  mlir::FailureOr<RankTensors> simulate(mlir::Operation *op, evaluate::Iteration iteration,
                                        llvm::ArrayRef<const RankTensors *> operands);
  mlir::FailureOr<evaluate::Tensors> compute(mlir::Operation *op, evaluate::Iteration iteration, int64_t rank,
                                             llvm::ArrayRef<const evaluate::Tensor *> operands);
  mlir::FailureOr<RankTensors> convert(dist::ConversionOpInterface op, const RankTensors &input);
  mlir::LogicalResult checkHeld(mlir::Operation *op, const RankTensors &input, llvm::function_ref<bool(int64_t)> reads);
  mlir::FailureOr<RankTensors> choose(dist::EitherOp op, const RankTensors &held, const RankTensors &other);
  mlir::FailureOr<RankTensors> mask(dist::MaskOp op, const RankTensors &input);
  mlir::FailureOr<RankTensors> exchange(dist::CollectiveOp op, const RankTensors &input);
  mlir::FailureOr<RankTensors> accumulate(dist::AccumulateOp op, const RankTensors &before, const RankTensors &addend);
  mlir::LogicalResult step(mlir::Operation *op, evaluate::Iteration iteration);
  mlir::LogicalResult runSlice(llvm::ArrayRef<evaluate::Tensor> inputs);
  void clearAccumulators();
  /// True if `on` includes `rank` and the present slice.
  bool isOn(mlir::DictionaryAttr on, int64_t rank) const;
  RankTensors distribute(const evaluate::Tensor &whole, const dist::Placement &placement);
  mlir::FailureOr<evaluate::Tensor> collect(const RankTensors &parts, mlir::RankedTensorType global,
                                            const dist::Placement &placement, mlir::Operation *op);
  double getUndefined(mlir::Type element);

  mlir::ModuleOp module;
  mlir::func::FuncOp func;
  dist::Mesh mesh;
  std::map<std::string, RankTensors> variables;
  llvm::DenseMap<mlir::Value, RankTensors> values;
  uint64_t undefined = 0;
  int64_t slice = 0;
};

} // namespace meshwright::simulate

#endif
