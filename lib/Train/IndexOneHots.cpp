//===- IndexOneHots.cpp - products with one-hot encodings move rows -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Mixtures of experts are often written as products: a tensor of tokens × experts × seats, nearly all of it zeros,
// sends tokens to experts, and another one brings them back. Such products cost as much as the experts. The forms of
// the factors (SelectionForm.h) tell which rows are meant, and a gather or scatter of rows takes the product's place.
//
//===----------------------------------------------------------------------===//

#include "Program.h"
#include "SelectionForm.h"
#include "meshwright/Support/Programs.h"
#include "meshwright/Train/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

namespace meshwright::train {
#define GEN_PASS_DEF_INDEXONEHOTSPASS
#include "meshwright/Train/Passes.h.inc"
} // namespace meshwright::train

#define DEBUG_TYPE "dist-train-index-one-hots"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::net;
using namespace meshwright::train;

/// A product is replaced if it has at least this many times the multiplications that its form needs. Reading rows at
/// positions is slower than a product by about that much.
static constexpr uint64_t kLeastGain = 8;
/// A form is kept if the tensor has at least this many times its elements.
static constexpr uint64_t kLeastZeros = 4;
/// Forms with more terms, or terms with more parts, are not followed, so that every operation takes bounded time.
static constexpr size_t kMostTerms = 4, kMostParts = 16;

namespace {

/// Follows forms through a block and replaces products.
class Indexer {
public:
  explicit Indexer(Block &block) : block(block) {}

  /// Returns the number of products that were replaced.
  unsigned run();

private:
  void visit(Operation *op);
  void visitCompare(CompareOp op);
  void visitConvert(ConvertOp op);
  void visitReshape(ReshapeOp op);
  void visitProduct(Operation *op, Value lhs, Value rhs);
  void visitAdd(AddOp op);
  void visitReduce(ReduceOp op);
  void visitDot(DotOp op);
  /// The form of `factors` multiplied, whose dimensions run with `labels`, as one with dimensions `dims`, summed along
  /// `sums`; nothing if there is none.
  std::optional<Form> multiplyForms(ArrayRef<std::pair<Value, LabelList>> factors, LabelList dims, LabelList sums);
  /// Remembers the form that results from moving the dimensions of the operand, if that has one, by the labels of the
  /// result's.
  void move(Operation *op, llvm::function_ref<LabelList(const Form &)> getDims);

  bool isSparse(Value value) const { return forms.contains(value); }
  /// The known form of `value`, or the value itself, with dimensions that run with `dims`.
  Form getForm(Value value, ArrayRef<Label> dims);
  /// The number of products that the terms of a form need.
  uint64_t countProducts(const Form &form) const;
  /// Remembers a form with selections.
  void keep(Value value, std::optional<Form> form) {
    if (form && form->isSparse())
      forms.try_emplace(value, std::move(*form));
  }
  /// Remembers the form of the result of `op` after its normalization.
  void keepNormal(Operation *op, std::optional<Form> form);

  Block &block;
  Labels labels;
  DenseMap<Value, Form> forms;
  unsigned numReplaced = 0;
};

} // namespace

//===----------------------------------------------------------------------===//
// Forms of operations
//===----------------------------------------------------------------------===//

Form Indexer::getForm(Value value, ArrayRef<Label> dims) {
  if (auto found = forms.find(value); found != forms.end())
    return labels.rename(found->second, dims);
  Form form{LabelList(dims), {Term()}};
  Term &term = form.terms.front();
  if (auto convert = value.getDefiningOp<ConvertOp>(); convert && elementTypeOf(convert.getOperand()).isInteger(1))
    value = convert.getOperand();
  if (elementTypeOf(value).isInteger(1))
    term.conditions.push_back(makeFactor(value, dims));
  else if (std::optional<APFloat> splat = getFloatSplat(value); !splat || !splat->isExactlyValue(1.0))
    term.factors.push_back(makeFactor(value, dims));
  return form;
}

uint64_t Indexer::countProducts(const Form &form) const {
  uint64_t total = 0;
  for (const Term &term : form.terms) {
    LabelList space(term.sums);
    for (Label dim : form.dims)
      if (llvm::none_of(term.selections, [&](const Selection &selection) { return selection.label == dim; }))
        space.push_back(dim);
    total = llvm::SaturatingAdd(total, labels.count(space));
  }
  return total;
}

std::optional<Form> Indexer::multiplyForms(ArrayRef<std::pair<Value, LabelList>> factors, LabelList dims,
                                           LabelList sums) {
  Form product{std::move(dims), {Term()}};
  product.terms.front().sums = std::move(sums);
  for (const auto &[value, valueLabels] : factors) {
    Form form = getForm(value, valueLabels);
    SmallVector<Term, 1> terms;
    for (const Term &lhs : product.terms)
      for (const Term &rhs : form.terms)
        terms.push_back(multiply(lhs, rhs));
    product.terms = std::move(terms);
  }
  auto isLong = [](const Term &term) {
    return term.factors.size() + term.conditions.size() + term.selections.size() > kMostParts;
  };
  if (product.terms.size() > kMostTerms || llvm::any_of(product.terms, isLong))
    return std::nullopt;
  return product;
}

void Indexer::move(Operation *op, llvm::function_ref<LabelList(const Form &)> getDims) {
  auto found = forms.find(op->getOperand(0));
  if (found == forms.end())
    return;
  Form form = found->second;
  form.dims = getDims(form);
  keep(op->getResult(0), std::move(form));
}

/// The label whose value is the number of every element of `factor`, which is an iota without dimensions of size 1, or
/// with them; nothing if it is none.
static std::optional<Label> findNumbers(const Factor &factor) {
  auto reshape = factor.value.getDefiningOp<ReshapeOp>();
  auto iota = (reshape ? reshape.getOperand() : factor.value).getDefiningOp<IotaOp>();
  if (!iota)
    return std::nullopt;
  if (!reshape)
    return factor.at[iota.getDim()].label;
  int64_t size = shapeOf(iota.getResult())[iota.getDim()];
  if (typeOf(factor.value).getNumElements() != size)
    return std::nullopt;
  for (auto [coordinate, other] : llvm::zip_equal(factor.at, shapeOf(factor.value)))
    if (other == size)
      return coordinate.label;
  return std::nullopt;
}

void Indexer::visitCompare(CompareOp op) {
  if (op.getDirection() != CompareDirection::Eq || op.getTotalOrder())
    return;
  Form form{labels.add(shapeOf(op.getResult())), {Term()}};
  Factor numbers = makeFactor(op.getLhs(), form.dims), positions = makeFactor(op.getRhs(), form.dims);
  std::optional<Label> found = findNumbers(numbers);
  if (!found) {
    std::swap(numbers, positions);
    found = findNumbers(numbers);
  }
  if (!found)
    return;
  Label label = *found;
  int64_t size = labels.getSize(label);
  Type element = elementTypeOf(positions.value);
  auto integer = dyn_cast<IntegerType>(element);
  if (llvm::is_contained(collectLabels(positions), label) || size == 0 || size > std::numeric_limits<int32_t>::max() ||
      (integer && (integer.isUnsigned() || integer.getWidth() == 1)))
    return;

  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  InheritingListener listener(op);
  builder.setListener(&listener);
  NetBuilder build(builder, op.getLoc());
  Value exact = positions.value, position = exact;
  Value isPosition;
  if (!integer || integer.getWidth() < 32)
    position = build.convert(exact, builder.getI32Type());
  if (!integer) // Fractions, numbers beyond the type and NaN are no positions.
    isPosition = build.compare(CompareDirection::Eq, build.convert(position, element), exact);
  Value clamped = build.binary<MinimumOp>(build.binary<MaximumOp>(position, build.splatLike(position, 0)),
                                          build.splatLike(position, static_cast<double>(size - 1)));
  Value isInside = build.compare(CompareDirection::Eq, clamped, position);
  Term &term = form.terms.front();
  for (Value condition : {isInside, isPosition})
    if (condition)
      term.conditions.push_back({condition, positions.at});
  term.selections.push_back({label, Factor{clamped, positions.at}});
  keep(op.getResult(), std::move(form));
}

/// The labels of `dims`, which run through a tensor of shape `from`, as those of shape `to`, which differs in
/// dimensions of size 1; none if it differs in others.
static LabelList dropUnits(ArrayRef<Label> dims, ArrayRef<int64_t> from, ArrayRef<int64_t> to, Labels &labels) {
  LabelList kept, result;
  for (auto [label, size] : llvm::zip_equal(dims, from))
    if (size != 1)
      kept.push_back(label);
  size_t next = 0;
  for (int64_t size : to) {
    if (size == 1) {
      result.push_back(labels.add(1));
      continue;
    }
    if (next == kept.size() || labels.getSize(kept[next]) != size)
      return {};
    result.push_back(kept[next++]);
  }
  return next == kept.size() ? result : LabelList();
}

void Indexer::visitReshape(ReshapeOp op) {
  auto found = forms.find(op.getOperand());
  if (found == forms.end())
    return;
  Form form = found->second;
  LabelList dims = dropUnits(form.dims, shapeOf(op.getOperand()), shapeOf(op.getResult()), labels);
  if (dims.size() != shapeOf(op.getResult()).size())
    return;
  // Dimensions of size 1 that go are summed.
  for (Term &term : form.terms)
    for (auto label : form.dims)
      if (!llvm::is_contained(dims, label))
        term.sums.push_back(label);
  form.dims = std::move(dims);
  keepNormal(op, std::move(form));
}

void Indexer::visitConvert(ConvertOp op) {
  auto found = forms.find(op.getOperand());
  if (found == forms.end())
    return;
  Form form = found->second;
  Type to = elementTypeOf(op.getResult());
  bool isLogic = to.isInteger(1),
       hasFactors = llvm::any_of(form.terms, [](const Term &term) { return !term.factors.empty(); });
  bool hasSums = form.terms.size() > 1 || !form.terms.front().sums.empty();
  if (isLogic && (hasFactors || hasSums))
    return;
  // Rounding to integers does not add up.
  if (isa<IntegerType>(to) && isFloat(op.getOperand()) && (hasFactors || hasSums))
    return;
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  InheritingListener listener(op);
  builder.setListener(&listener);
  NetBuilder build(builder, op.getLoc());
  for (Term &term : form.terms)
    for (Factor &factor : term.factors)
      factor.value = build.convert(factor.value, to);
  keep(op.getResult(), std::move(form));
}

void Indexer::keepNormal(Operation *op, std::optional<Form> form) {
  if (!form)
    return;
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  InheritingListener listener(op);
  builder.setListener(&listener);
  NetBuilder build(builder, op->getLoc());
  if (FormBuilder(build, labels).normalize(*form))
    keep(op->getResult(0), std::move(form));
}

void Indexer::visitProduct(Operation *op, Value lhs, Value rhs) {
  if (!isSparse(lhs) && !isSparse(rhs))
    return;
  LabelList dims = labels.add(shapeOf(op->getResult(0)));
  keepNormal(op, multiplyForms({{lhs, dims}, {rhs, dims}}, dims, {}));
}

void Indexer::visitAdd(AddOp op) {
  auto lhs = forms.find(op.getLhs()), rhs = forms.find(op.getRhs());
  if (lhs == forms.end() || rhs == forms.end() || lhs->second.terms.size() + rhs->second.terms.size() > kMostTerms)
    return;
  LabelList dims = labels.add(shapeOf(op.getResult()));
  Form sum = labels.rename(lhs->second, dims);
  llvm::append_range(sum.terms, labels.rename(rhs->second, dims).terms);
  keep(op.getResult(), std::move(sum));
}

void Indexer::visitReduce(ReduceOp op) {
  auto found = forms.find(op.getOperand());
  if (found == forms.end() || op.getKind() != ReduceKind::Sum)
    return;
  Form form = found->second;
  LabelList dims;
  for (auto [dim, label] : llvm::enumerate(form.dims))
    if (llvm::is_contained(op.getDims(), static_cast<int64_t>(dim)))
      for (Term &term : form.terms)
        term.sums.push_back(label);
    else
      dims.push_back(label);
  form.dims = std::move(dims);
  keepNormal(op, std::move(form));
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

void Indexer::visitDot(DotOp op) {
  if (!isSparse(op.getLhs()) && !isSparse(op.getRhs()))
    return;
  ArrayRef<int64_t> left = shapeOf(op.getLhs()), right = shapeOf(op.getRhs());
  LabelList lhs = labels.add(left), rhs = labels.add(right), dims, sums;
  for (auto [from, to] : llvm::zip_equal(op.getLhsBatch(), op.getRhsBatch()))
    dims.push_back(rhs[to] = lhs[from]);
  for (auto [from, to] : llvm::zip_equal(op.getLhsContract(), op.getRhsContract()))
    sums.push_back(rhs[to] = lhs[from]);
  for (int64_t dim : op.getLhsFree())
    dims.push_back(lhs[dim]);
  for (int64_t dim : op.getRhsFree())
    dims.push_back(rhs[dim]);
  uint64_t numElements = labels.count(dims), cost = llvm::SaturatingMultiply(numElements, labels.count(sums));
  std::optional<Form> form = multiplyForms({{op.getLhs(), lhs}, {op.getRhs(), rhs}}, dims, sums);
  if (!form)
    return;

  OpBuilder builder(op);
  InheritingListener listener(op);
  builder.setListener(&listener);
  NetBuilder build(builder, op.getLoc());
  FormBuilder formBuilder(build, labels);
  if (!formBuilder.normalize(*form))
    return;
  uint64_t numProducts = countProducts(*form);
  bool staysSparse = form->isSparse() && numProducts <= numElements / kLeastZeros;
  if (llvm::SaturatingAdd(numProducts, numElements) > cost / kLeastGain) {
    if (staysSparse)
      keep(op.getResult(), std::move(form));
    return;
  }

  RankedTensorType type = typeOf(op.getResult());
  // As in products: sums of 16-bit floats are computed in f32.
  Type accumulator = elementTypeOf(op.getLhs());
  if (isa<FloatType>(accumulator) && accumulator.getIntOrFloatBitWidth() < 32)
    accumulator = builder.getF32Type();
  if (type.getElementType().getIntOrFloatBitWidth() > accumulator.getIntOrFloatBitWidth())
    accumulator = type.getElementType();
  Value value = formBuilder.compute(*form, type, accumulator);
  if (StringAttr name = kNameAttr.get(op))
    kNameAttr.set(value.getDefiningOp(), name);
  op.getResult().replaceAllUsesWith(value);
  if (staysSparse)
    keep(value, std::move(form));
  ++numReplaced;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

void Indexer::visit(Operation *op) {
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](CompareOp compare) { visitCompare(compare); })
      .Case([&](ConvertOp convert) { visitConvert(convert); })
      .Case<MultiplyOp>([&](auto product) { visitProduct(product, product.getLhs(), product.getRhs()); })
      .Case([&](AndOp both) {
        if (elementTypeOf(both.getResult()).isInteger(1))
          visitProduct(both, both.getLhs(), both.getRhs());
      })
      .Case([&](SelectOp select) {
        if (net::isZero(select.getOnFalse()))
          visitProduct(select, select.getPredicate(), select.getOnTrue());
      })
      .Case([&](AddOp add) { visitAdd(add); })
      .Case([&](ReduceOp reduce) { visitReduce(reduce); })
      .Case([&](BroadcastOp broadcast) {
        move(op, [&](const Form &form) {
          LabelList dims = labels.add(shapeOf(broadcast.getResult()));
          for (auto [label, dim] : llvm::zip_equal(form.dims, broadcast.getDims()))
            dims[dim] = label;
          return dims;
        });
      })
      .Case([&](TransposeOp transpose) {
        move(op, [&](const Form &form) {
          return llvm::map_to_vector<4>(transpose.getPermutation(), [&](int64_t dim) { return form.dims[dim]; });
        });
      })
      .Case([&](ReshapeOp reshape) { visitReshape(reshape); })
      .Case([&](DotOp dot) { visitDot(dot); });
}

unsigned Indexer::run() {
  for (Operation &op : llvm::make_early_inc_range(block))
    visit(&op);
  // Forms are built where they are found, and few are read.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
  return numReplaced;
}

namespace {

struct IndexOneHotsPass : train::impl::IndexOneHotsPassBase<IndexOneHotsPass> {
  void runOnOperation() override {
    if (failed(verifyPrograms(getOperation())))
      return signalPassFailure();
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (!func.isExternal())
        numReplaced += Indexer(func.getBody().front()).run();
  }
};

} // namespace
