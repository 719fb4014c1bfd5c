//===- describe-operations.cpp - writes the reference of operations -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints docs/reference/operations.md: what the rules that are attached to operations say about one program of every
// family of the register. Fails where an operation of `net` has no family.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Interfaces.h"
#include "dialects/Net/Interfaces.h"
#include "dialects/Net/Precision.h"
#include "lib/Kernels/OpForms.h"
#include "meshwright/Codegen/Targets.h"
#include "meshwright/Rules/Rules.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "test/lib/Operations/OperationCases.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <map>

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;
using namespace meshwright::test;

static constexpr const char *kIntroduction = R"(# Operations

What the operations of `net` tell the compiler about themselves, as it is attached to them in `lib/Rules`. What they compute is in
[net](net.md), how rules are read in [Rules](../design/rules.md), what derivatives are where calculus leaves a choice in
[Derivatives](derivatives.md). Every rule is tested in every way of splitting (`test/unit/Partition/OperationSplitsTest.cpp`),
every derivative against differences (`test/unit/Train/OperationDerivativesTest.cpp`) and against JAX
(`test/unit/Train/JaxDerivativesTest.cpp`).

- **Rule**: the factors of every dimension, major to minor, of the operands → of the results, for one program of the kind that is
  named. `·` is a dimension that cannot be split; `a[2:6]` spans the indices 2 to 6 of the factor alone.
- **Splitting** says what is special about a factor: splitting it leaves the results that lack it *partial*, to be reduced by sum, max …;
  it *must stay whole*; or it can only be split into *equal* parts. All others may be split into parts of any size.
- **Passes**: the reductions that may be put off until after the operation, and the operands, counted from 0, that are partial then;
  `0 1` together, `0 or 1` either alone. *All* stands for sum, product, max, min, and, or, tree.
- **Derivative**: whether a gradient passes.
- **Precision**: in mixed precision *narrow* is computed in 16 bits, *wide* in the type it is written in, *follow* in 16 bits where its
  operands are of 16 bits.
- **Computed**: *free* names elements of the operand inside a kernel; *source* is made from nothing inside a kernel; *elementwise* and
  *reduction* are what kernels are fused of, on CPUs and GPUs; *alone* is a kernel of its own. Products and convolutions of f32, bf16 and f16
  are computed by a library where operands lie in memory as it needs them.

| operation | example | rule | splitting | passes | derivative | precision | computed |
|---|---|---|---|---|---|---|---|
)";

/// `a`, `b`, …
static std::string getLetter(unsigned factor) { return std::string(1, static_cast<char>('a' + factor)); }

/// `[a b, c, ·]`.
static std::string printTensor(const ShardingRule &rule, const TensorRule &tensor) {
  std::vector<std::string> dims;
  for (const auto &uses : tensor.dims) {
    std::vector<std::string> factors;
    for (const FactorUse &use : uses) {
      bool isPart = use.offset != 0 || use.size != rule.factors[use.factor].size;
      std::string span = "[" + std::to_string(use.offset) + ":" + std::to_string(use.offset + use.size) + "]";
      factors.push_back(getLetter(use.factor) + (isPart ? span : ""));
    }
    dims.push_back(factors.empty() ? "·" : llvm::join(factors, " "));
  }
  return "[" + llvm::join(dims, ", ") + "]";
}

static std::string printTensors(const ShardingRule &rule, ArrayRef<TensorRule> tensors) {
  std::vector<std::string> texts;
  for (const TensorRule &tensor : tensors)
    texts.push_back(printTensor(rule, tensor));
  return llvm::join(texts, ", ");
}

/// True if some result lacks the factor, so that splitting it leaves a partial value.
static bool isReduced(const ShardingRule &rule, unsigned factor) {
  return !llvm::all_of(rule.results, [&](const TensorRule &tensor) {
    return llvm::any_of(tensor.dims, [&](const auto &uses) {
      return llvm::any_of(uses, [&](const FactorUse &use) { return use.factor == factor; });
    });
  });
}

static std::string printSplitting(const ShardingRule &rule) {
  llvm::MapVector<StringRef, std::vector<std::string>> said;
  for (auto [index, factor] : llvm::enumerate(rule.factors)) {
    if (!factor.splittable)
      said["must stay whole"].push_back(getLetter(index));
    else if (isReduced(rule, index))
      said[stringifyReduceKind(factor.reduction)].push_back(getLetter(index));
    if (factor.splittable && !factor.uneven)
      said["equal parts"].push_back(getLetter(index));
  }
  std::vector<std::string> texts;
  for (auto &[what, letters] : said)
    texts.push_back(llvm::join(letters, " ") + ": " + what.str());
  return llvm::join(texts, "; ");
}

/// The reductions that pass, those by the same operands together.
static std::string printPartials(const ShardingRule &rule) {
  llvm::MapVector<StringRef, std::vector<std::string>> byKind;
  for (const PartialRule &partial : rule.partials) {
    std::vector<std::string> operands;
    for (unsigned operand : partial.operands)
      operands.push_back(std::to_string(operand));
    byKind[stringifyReduceKind(partial.kind)].push_back(llvm::join(operands, " "));
  }
  std::map<std::string, std::vector<std::string>> byOperands;
  for (auto &[kind, operands] : byKind)
    byOperands[llvm::join(operands, " or ")].push_back(kind.str());
  std::vector<std::string> texts;
  for (auto &[operands, kinds] : byOperands)
    texts.push_back((kinds.size() == 7 ? "all" : llvm::join(kinds, " ")) + ": " + operands);
  return llvm::join(texts, "; ");
}

static StringRef printForm(Operation *op) {
  schedule::OpForms forms;
  switch (forms.get(op).kind) {
  case schedule::OpForm::None:
    return "outside of kernels";
  case schedule::OpForm::Move:
    return "free";
  case schedule::OpForm::Source:
    return "source";
  case schedule::OpForm::Map:
    return "elementwise";
  case schedule::OpForm::Reduce:
    return "reduction";
  case schedule::OpForm::Alone:
    return "alone";
  }
  llvm_unreachable("a form");
}

/// The cells of a family after the first two, or nothing if its operation cannot be read.
static std::optional<std::string> describe(const CaseFamily &family, MLIRContext &context) {
  // Sizes of which each can be told from the others.
  Random random(11);
  CaseSource source(random, {4, 6, 8, 10});
  OwningOpRef<ModuleOp> module = parseCase(family.draw(source), context);
  if (!module)
    return std::nullopt;
  Operation *op = getOperation(*module);
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (auto interface = dyn_cast<ShardingOpInterface>(op)) {
    ShardingRule rule = interface.getShardingRule();
    stream << "`" << printTensors(rule, rule.operands) << (rule.operands.empty() ? "→ " : " → ")
           << printTensors(rule, rule.results) << "` | " << printSplitting(rule) << " | " << printPartials(rule);
  } else {
    stream << "everything must stay whole | |";
  }
  auto isReal = [](Type type) { return isa<FloatType>(getElementTypeOrSelf(type)); };
  bool isDifferentiable = isa<net::DerivativeOpInterface>(op) && family.isDifferentiable &&
                          llvm::any_of(op->getOperandTypes(), isReal) && llvm::any_of(op->getResultTypes(), isReal);
  auto precision = dyn_cast<net::PrecisionOpInterface>(op);
  stream << " | " << (isDifferentiable ? "yes" : "no") << " | "
         << (precision ? stringifyPrecision(precision.getPrecision()) : "none") << " | " << printForm(op) << " |";
  return text;
}

int main() {
  DialectRegistry registry;
  registry.insert<func::FuncDialect, dist::DistDialect, net::NetDialect>();
  emit::registerKernelDialects(registry);
  registerNetDerivatives(registry);
  registerNetKernels(registry);
  registerNetPrecisions(registry);
  registerNetSharding(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  // Families of an operation that are alike share a row.
  struct Row {
    std::string operation, cells;
    std::vector<std::string> examples;
  };
  std::vector<Row> rows;
  for (const CaseFamily &family : getCaseFamilies()) {
    std::optional<std::string> cells = describe(family, context);
    if (!cells)
      return 1;
    auto row =
        llvm::find_if(rows, [&](const Row &row) { return row.operation == family.operation && row.cells == *cells; });
    if (row == rows.end())
      row = rows.insert(rows.end(), {family.operation, *cells, {}});
    row->examples.push_back(family.what);
  }
  llvm::outs() << kIntroduction;
  for (const Row &row : rows)
    llvm::outs() << "| `" << row.operation << "` | " << llvm::join(row.examples, ", ") << " | " << row.cells << "\n";
  for (const std::string &name : findWithoutFamily(context)) {
    llvm::errs() << name << " has no case in test/lib/Operations\n";
    return 1;
  }
  return 0;
}
