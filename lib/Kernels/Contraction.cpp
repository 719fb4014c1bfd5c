//===- Contraction.cpp - finds GEMMs that the library can compute ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A library reads a matrix with two strides, one of which is 1. Operands are traced through layout operations to memory
// as linear forms (LinearForm.h). A GEMM fits if the dimensions of each kind (own, contracted) join to one run with one
// stride; the other operands are copied first.
//
//===----------------------------------------------------------------------===//

#include "Contraction.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::schedule;

static ArrayRef<int64_t> shapeOf(Value value) { return cast<RankedTensorType>(value.getType()).getShape(); }
static int64_t getNumElements(Value value) { return cast<RankedTensorType>(value.getType()).getNumElements(); }

/// True if the library multiplies values of those types, and none of them is empty.
static bool isLibraryType(Value lhs, Value rhs, Value result) {
  Type types[] = {getElementTypeOrSelf(lhs.getType()), getElementTypeOrSelf(rhs.getType()),
                  getElementTypeOrSelf(result.getType())};
  bool known =
      llvm::all_of(types, [](Type type) { return type.isF32() || type.isF64() || type.isBF16() || type.isF16(); });
  // The library computes in one type, wider only in the result.
  bool alike = types[0] == types[1] && (types[2] == types[0] || (types[2].isF32() && !types[0].isF64()));
  auto isEmpty = [](Value value) { return getNumElements(value) == 0; };
  return known && alike && !isEmpty(lhs) && !isEmpty(rhs);
}

bool schedule::isLibraryProduct(net::DotOp dot) { return isLibraryType(dot.getLhs(), dot.getRhs(), dot.getResult()); }

bool schedule::isLibraryConvolution(net::ConvolutionOp convolution) {
  // The library gathers in at most so many dimensions.
  constexpr size_t kMaxSpatial = 3;
  return convolution.getDims().getLhsSpatial().size() <= kMaxSpatial &&
         isLibraryType(convolution.getLhs(), convolution.getRhs(), convolution.getResult()) &&
         getNumElements(convolution.getResult()) != 0;
}

namespace {

/// Sizes and strides of neighbouring dimensions, joined into one.
struct Run {
  int64_t size = 1, stride = 0;
  bool joins = true;

  /// Adds a dimension to the right.
  void append(int64_t extent, int64_t step) {
    if (extent == 1)
      return;
    joins &= size == 1 || stride == step * extent;
    size *= extent;
    stride = step;
  }
};

struct Operand {
  Value base;
  int64_t offset = 0;
  SmallVector<int64_t> strides;
};

} // namespace

/// The strides of `value` in the memory that it is in; fails where its position is not linear.
static FailureOr<Operand> findStrides(Value value, OpForms &forms, function_ref<bool(Operation *)> stop) {
  Variables variables;
  SmallVector<LinearForm> indices;
  for (int64_t extent : shapeOf(value)) {
    unsigned variable = variables.add(Variables::Loop, extent);
    indices.push_back(extent == 1 ? LinearForm(0) : LinearForm::variable(variable));
  }
  View view = traceView(value, indices, variables, forms, stop);
  Operand operand{view.base, view.position.constant, SmallVector<int64_t>(indices.size(), 0)};
  for (auto [variable, coefficient] : view.position.terms) {
    if (variables[variable].kind != Variables::Loop)
      return failure();
    operand.strides[variable] = coefficient;
  }
  // Buffers start aligned, and the library requires aligned operands, so the offset has to keep the alignment.
  if (operand.offset * ((getElementTypeOrSelf(value.getType()).getIntOrFloatBitWidth() + 7) / 8) % 64 != 0)
    return failure();
  if (Operation *op = view.base.getDefiningOp(); op && !stop(op) && forms.get(op).kind == OpForm::Source)
    return failure();
  return operand;
}

/// Joins `own` and `sum` dimensions of an operand; fails where they do not join or the library would not take the
/// strides: one of the two has to be contiguous, and none is repeated.
static FailureOr<MatrixView> join(const Operand &operand, ArrayRef<int64_t> shape, ArrayRef<int64_t> batch,
                                  ArrayRef<int64_t> own, ArrayRef<int64_t> sum) {
  MatrixView view{operand.base, operand.offset, {}, 0, 0};
  Run ownRun, sumRun;
  for (int64_t dim : batch)
    view.batch.push_back(operand.strides[dim]);
  for (int64_t dim : own)
    ownRun.append(shape[dim], operand.strides[dim]);
  for (int64_t dim : sum)
    sumRun.append(shape[dim], operand.strides[dim]);
  if (!ownRun.joins || !sumRun.joins)
    return failure();
  if ((ownRun.size > 1 && ownRun.stride <= 0) || (sumRun.size > 1 && sumRun.stride <= 0))
    return failure();
  // A dimension of one element has the stride that suits the other.
  if (ownRun.size == 1)
    ownRun.stride = sumRun.stride == 1 ? std::max<int64_t>(sumRun.size, 1) : 1;
  if (sumRun.size == 1)
    sumRun.stride = ownRun.stride == 1 ? std::max<int64_t>(ownRun.size, 1) : 1;
  bool rows = sumRun.stride == 1 && ownRun.stride >= sumRun.size;
  bool columns = ownRun.stride == 1 && sumRun.stride >= ownRun.size;
  if (!rows && !columns)
    return failure();
  view.own = ownRun.stride;
  view.sum = sumRun.stride;
  return view;
}

/// Finds the layout of the result: its own row-major order, or the order of `transpose`.
static LogicalResult findOutput(net::DotOp dot, Operation *transpose, OpForms &forms, Product &product) {
  ArrayRef<int64_t> shape = shapeOf(dot.getResult());
  SmallVector<int64_t> strides(shape.size(), 1);
  if (transpose) {
    AffineMap map = forms.get(transpose).maps[0];
    ArrayRef<int64_t> outer = shapeOf(transpose->getResult(0));
    if (!map.isPermutation())
      return failure();
    SmallVector<int64_t> outerStrides(outer.size(), 1);
    for (size_t dim = outer.size(); dim-- > 1;)
      outerStrides[dim - 1] = outerStrides[dim] * outer[dim];
    for (auto [dim, expr] : llvm::enumerate(map.getResults()))
      strides[dim] = outerStrides[cast<AffineDimExpr>(expr).getPosition()];
  } else {
    for (size_t dim = shape.size(); dim-- > 1;)
      strides[dim - 1] = strides[dim] * shape[dim];
  }
  size_t numBatch = dot.getLhsBatch().size(), numRows = dot.getLhsFree().size();
  Run rows, columns;
  product.outBatch.assign(strides.begin(), strides.begin() + numBatch);
  for (size_t dim = numBatch; dim < shape.size(); ++dim)
    (dim < numBatch + numRows ? rows : columns).append(shape[dim], strides[dim]);
  if (!rows.joins || !columns.joins)
    return failure();
  if (rows.size == 1)
    rows.stride = columns.stride == 1 || columns.size == 1 ? columns.size : 1;
  if (columns.size == 1)
    columns.stride = 1;
  product.m = rows.size;
  product.n = columns.size;
  product.outRow = rows.stride;
  product.outColumn = columns.stride;
  product.transpose = transpose;
  return success(product.outColumn == 1 || product.outRow == 1);
}

/// The only user of the result, where it is a layout operation that may be computed along: one that moves every
/// element.
static Operation *findTranspose(net::DotOp dot, OpForms &forms) {
  if (!dot.getResult().hasOneUse())
    return nullptr;
  Operation *user = *dot.getResult().user_begin();
  const OpForm &form = forms.get(user);
  bool keepsAll = user->getNumResults() == 1 && getNumElements(user->getResult(0)) == getNumElements(dot.getResult());
  return form.kind == OpForm::Move && form.maps[0].isPermutation() && keepsAll ? user : nullptr;
}

/// The library writes rows that are contiguous: the product of the transposed matrices where the columns are.
static void orient(Product &product) {
  if (product.outColumn == 1)
    return;
  std::swap(product.lhs, product.rhs);
  std::swap(product.m, product.n);
  std::swap(product.outRow, product.outColumn);
}

/// Joins neighbouring batch dimensions that lie alike in all three.
static void joinBatch(Product &product) {
  for (size_t dim = product.batch.size(); dim-- > 0;) {
    auto erase = [&](SmallVector<int64_t> &list, size_t index) { list.erase(list.begin() + index); };
    auto eraseAll = [&](size_t index) {
      for (SmallVector<int64_t> *list : {&product.batch, &product.lhs.batch, &product.rhs.batch, &product.outBatch})
        erase(*list, index);
    };
    if (product.batch[dim] == 1) {
      eraseAll(dim);
      continue;
    }
    if (dim + 1 >= product.batch.size())
      continue;
    int64_t extent = product.batch[dim + 1];
    auto nests = [&](ArrayRef<int64_t> strides) { return strides[dim] == strides[dim + 1] * extent; };
    if (!nests(product.lhs.batch) || !nests(product.rhs.batch) || !nests(product.outBatch))
      continue;
    product.batch[dim + 1] *= product.batch[dim];
    eraseAll(dim);
  }
}

FailureOr<Product> schedule::analyzeProduct(net::DotOp dot, OpForms &forms, function_ref<bool(Operation *)> stop,
                                            ProductBlockers &blockers) {
  Product product;
  ArrayRef<int64_t> lhsShape = shapeOf(dot.getLhs());
  auto view = [&](Value value, ArrayRef<int64_t> batch, ArrayRef<int64_t> own,
                  ArrayRef<int64_t> sum) -> FailureOr<MatrixView> {
    FailureOr<Operand> operand = findStrides(value, forms, stop);
    if (failed(operand))
      return failure();
    return join(*operand, shapeOf(value), batch, own, sum);
  };
  FailureOr<MatrixView> lhs = view(dot.getLhs(), dot.getLhsBatch(), dot.getLhsFree(), dot.getLhsContract());
  FailureOr<MatrixView> rhs = view(dot.getRhs(), dot.getRhsBatch(), dot.getRhsFree(), dot.getRhsContract());
  blockers = {failed(lhs), failed(rhs)};
  if (failed(lhs) || failed(rhs))
    return failure();
  product.lhs = *lhs;
  product.rhs = *rhs;
  for (int64_t dim : dot.getLhsBatch())
    product.batch.push_back(lhsShape[dim]);
  for (int64_t dim : dot.getLhsContract())
    product.k *= lhsShape[dim];
  Operation *transpose = findTranspose(dot, forms);
  if ((!transpose || stop(transpose) || failed(findOutput(dot, transpose, forms, product))) &&
      failed(findOutput(dot, nullptr, forms, product)))
    return failure();
  orient(product);
  joinBatch(product);
  return product;
}
