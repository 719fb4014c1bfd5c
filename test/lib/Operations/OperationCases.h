//===- OperationCases.h - every operation in programs of its own -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The register of cases that says of every operation of `net` how programs look that consist of it alone. Whatever has
// to hold for each operation is tested by going through it: derivatives against differences, every way of splitting
// against the serial program. An operation without a case fails these tests, so that none is left out. A new
// operation's cases belong into the file of its family.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TEST_LIB_OPERATIONS_OPERATIONCASES_H
#define MESHWRIGHT_TEST_LIB_OPERATIONS_OPERATIONCASES_H

#include "dialects/Net/Net.h"
#include "mlir/IR/OwningOpRef.h"
#include "test/lib/Evaluate/Tensor.h"
#include "test/unit/Random.h"
#include <functional>

namespace meshwright::test {

using CaseShape = std::vector<int64_t>;

/// A value that a case reads: its type, and the interval that its numbers are drawn from.
struct CaseOperand {
  CaseShape shape;
  std::string element = "f64";
  double low = -2, high = 2;
  /// True if none of its numbers is close to a number of an earlier operand, for operations that may compare any two of
  /// them, like scatters.
  bool isApart = false;
};

/// One operation as text, which reads its operands as `%a`, `%b`, `%c`, ….
struct OperationCase {
  std::vector<CaseOperand> operands;
  std::string text;
  /// A constant that the operation reads besides, `%k = net.constant …`; empty for most.
  std::string constant = {};
};

/// Draws what cases are made of. Who asks says which sizes are of use.
class CaseSource {
public:
  CaseSource(Random &random, std::vector<int64_t> sizes) : random(random), sizes(std::move(sizes)) {}

  int64_t pick(int64_t low, int64_t high) { return random.pick(low, high); }
  bool chance(int percent) { return random.chance(percent); }
  template <typename T> T choose(std::vector<T> choices) { return random.choose(choices); }
  /// The size of a dimension.
  int64_t size() { return random.choose(sizes); }
  CaseShape shape(int64_t rank);
  /// The numbers below `count` in random order.
  std::vector<int64_t> shuffle(int64_t count);

private:
  Random &random;
  std::vector<int64_t> sizes;
};

/// Cases of one operation that are alike but for sizes and numbers.
struct CaseFamily {
  /// The operation, `net.dot`, and what the cases have in common.
  std::string operation, what;
  std::function<OperationCase(CaseSource &)> draw;
  /// False where a gradient that has to pass is an error although the operation has a derivative in other cases.
  bool isDifferentiable = true;
};

/// All families, those of an operation one after another.
const std::vector<CaseFamily> &getCaseFamilies();

/// Cases of gather, scatter and boxes at computed places, by positions of every integer type: how they split is all
/// there is to test of them.
std::vector<CaseFamily> getIndexTypeFamilies();

/// Operations of the context that have a sharding rule but no family, and should: all but state and loops, which mean
/// something only beside others, and which random networks split.
std::vector<std::string> findWithoutFamily(mlir::MLIRContext &context);

/// A module with a function @step of the case's operands that returns all results of the operation. An error has been
/// reported where the text cannot be read.
mlir::OwningOpRef<mlir::ModuleOp> parseCase(const OperationCase &operationCase, mlir::MLIRContext &context);
/// The operation under test in the module of a case: the last one before the return.
mlir::Operation *getOperation(mlir::ModuleOp module);

/// Numbers for all operands, of the types that the case's function takes. The floats of one are distinct, none is
/// closer than 0.01 to a multiple of one half or to its counterpart in another operand: functions that are made of
/// pieces have their seams there.
std::vector<evaluate::Tensor> drawOperands(const OperationCase &operationCase, llvm::ArrayRef<mlir::Type> types,
                                           Random &random);

/// Families that are of interest for special values alone, beside the others: conversions between all types of floats,
/// and operations on integers of all types that a reduction passes.
const std::vector<CaseFamily> &getSpecialFamilies();

/// The range of special numbers. `Exact`: all, for operations that neither add nor multiply in another order. `Summed`:
/// numbers whose sums overflow in no order. `Multiplied`: numbers whose products, in addition, underflow in no order.
/// All ranges include NaN and infinities.
enum class SpecialRange { Exact, Summed, Multiplied };

/// Numbers for all operands; most operands have special values among them: NaN, infinities, zeros of both signs,
/// denormals and the ends of their types. Positions of gathers and scatters, and predicates, are drawn from the
/// intervals of the case.
std::vector<evaluate::Tensor> drawSpecialOperands(const OperationCase &operationCase, llvm::ArrayRef<mlir::Type> types,
                                                  SpecialRange range, Random &random);

/// `tensor<2x3xf64>`.
std::string printType(const CaseShape &shape, llvm::StringRef element = "f64");
/// `[0, 2]`.
std::string printList(llvm::ArrayRef<int64_t> numbers);

// The families, by file.
void addElementwiseFamilies(std::vector<CaseFamily> &families);
void addLayoutFamilies(std::vector<CaseFamily> &families);
void addContractionFamilies(std::vector<CaseFamily> &families);
void addReductionFamilies(std::vector<CaseFamily> &families);
void addIndexingFamilies(std::vector<CaseFamily> &families);
void addOrderFamilies(std::vector<CaseFamily> &families);
void addWindowFamilies(std::vector<CaseFamily> &families);

} // namespace meshwright::test

#endif
