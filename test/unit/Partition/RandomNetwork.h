//===- RandomNetwork.h - random serial networks -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TEST_UNIT_PARTITION_RANDOMNETWORK_H
#define MESHWRIGHT_TEST_UNIT_PARTITION_RANDOMNETWORK_H

#include "dialects/Net/Net.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/OwningOpRef.h"
#include "test/unit/Random.h"
#include "llvm/ADT/DenseMap.h"
#include <optional>

namespace meshwright::test {

/// Writes a small serial network of random operations of `net`: floats of one type (f64 unless said), indices in i32,
/// predicates in i1. Values stay small, so that a wrong element shows.
class RandomNetwork {
public:
  /// With `special` the network is for inputs and variables with special values: functions are also given values
  /// outside of their domains, where these have the same bits in whatever order sums are taken.
  RandomNetwork(Random &random, mlir::MLIRContext &context, mlir::Type real = {}, bool special = false);

  /// A module with a function @step, some variables, and no placements.
  mlir::OwningOpRef<mlir::ModuleOp> build(int64_t numOps, bool withLoops = false);

private:
  using Builder = mlir::ImplicitLocOpBuilder;
  using Shape = llvm::SmallVector<int64_t>;

  /// The range of an operation's operands, chosen so that the result depends on them continuously: the rounding of
  /// another order of sums must not cause a jump.
  enum class Domain { Any, Small, Positive, Exact };

  /// The dimensions of a gather or scatter: the lists of its `dims` attribute and the shapes that follow from them.
  struct Windows {
    /// Per dimension of the value, the extent of a window.
    Shape sizes;
    /// The shapes of the gathered values or of the updates, and of the indices.
    Shape values, indices;
    /// Dimensions of `values` that run over a window; dimensions of the value that are no dimension of a window.
    llvm::SmallVector<int64_t> windowDims, collapsed;
    llvm::SmallVector<int64_t> operandBatching, indicesBatching, map;
    int64_t vectorDim = 0;
    /// The upper bound of indices, except for those that are out of range on purpose.
    int64_t bound = 1;
  };

  void addOperation();
  // RandomNetworkElementwise.cpp
  void addUnary();
  void addBinary();
  void addChoice();
  void addConstant();
  void addIota();
  void addBits();
  void addConvert();
  // RandomNetworkShapes.cpp
  void addBroadcast();
  void addReshape();
  void addTranspose();
  void addSlice();
  void addPad();
  void addConcatenate();
  // RandomNetworkSums.cpp
  void addDot();
  void addReduce();
  void addNormalization();
  void addArgReduce();
  void addMatrices();
  // RandomNetworkWindows.cpp
  void addConvolution();
  void addWindow();
  // RandomNetworkIndexing.cpp
  std::optional<Windows> drawWindows(llvm::ArrayRef<int64_t> shape);
  void addGather();
  void addScatter();
  void addDynamic();
  void addOrder();
  // RandomNetworkLoops.cpp
  void addLoop();
  void closeLoop(mlir::Value index, llvm::ArrayRef<mlir::Value> carried, int64_t count,
                 std::vector<mlir::Value> outside);

  /// A new value of a variable from its old one: element by element, or from elements elsewhere.
  mlir::Value update(mlir::Value old);

  /// A value of `element` there is already, or null.
  mlir::Value pick(mlir::Type element, int64_t minRank = 0);
  /// A window for a dimension of `size`: plain most often, and small enough to have a place.
  net::WindowDim pickWindow(int64_t size);
  /// `x` with its dimensions in another order.
  mlir::Value transpose(mlir::Value x);
  mlir::Value getPart(mlir::Value x);
  /// Another value of the same type as `like`; made by reshaping numbers that are there if none fits.
  mlir::Value pickLike(mlir::Value like);
  /// A value of that shape and element type: one that fits, or one made of another.
  mlir::Value make(llvm::ArrayRef<int64_t> shape, mlir::Type element);
  /// Random positions of that shape below `bound`, at times one that is out of range.
  mlir::Value makeIndices(llvm::ArrayRef<int64_t> shape, int64_t bound);
  /// The operation of that name, elementwise on values of one shape.
  mlir::Value apply(llvm::StringRef name, llvm::ArrayRef<mlir::Value> operands, mlir::Type element);
  /// True if `value` is computed from inputs and constants without a sum, so that its bits do not depend on an order.
  bool isExact(mlir::Value value);
  /// Numbers of that domain in the shape of `x`: made of it, but for `Exact`, which is made of integers. `x` itself now
  /// and then in a network for special values.
  mlir::Value restrict(mlir::Value x, Domain domain);
  mlir::Value makeDense(mlir::RankedTensorType type);
  mlir::Value add(mlir::Value value);
  static mlir::RankedTensorType typeOf(mlir::Value value) {
    return llvm::cast<mlir::RankedTensorType>(value.getType());
  }
  static llvm::ArrayRef<int64_t> shapeOf(mlir::Value value) { return typeOf(value).getShape(); }
  static int64_t product(llvm::ArrayRef<int64_t> shape);
  int64_t pickSize() { return random.choose(std::vector<int64_t>{1, 2, 3, 4, 4, 5, 6, 6, 7, 8, 8, 9, 12, 16, 17}); }
  Shape pickShape(int64_t maxRank);

  Random &random;
  Builder builder;
  mlir::Type real, i32, i1;
  bool special;
  /// Results of `isExact`.
  llvm::DenseMap<mlir::Value, bool> exact;
  std::vector<mlir::Value> values;
  /// The number of further levels of nested loops.
  int64_t depth = 0;
};

/// `module` as it is printed, for messages.
inline std::string print(mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream);
  return text;
}

} // namespace meshwright::test

#endif
