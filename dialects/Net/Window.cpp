//===- Window.cpp - verifiers of convolution and pooling ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Both kinds of operations have windows that slide along dimensions; `WindowDim` has their arithmetic. All of it checks
// for overflow, because sizes, paddings and dilations come from the user's file.
//
//===----------------------------------------------------------------------===//

#include "dialects/Net/Net.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::net;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

std::optional<int64_t> net::spread(int64_t size, int64_t dilation) {
  int64_t length;
  if (size == 0)
    return 0;
  if (llvm::MulOverflow(size - 1, dilation, length) || llvm::AddOverflow<int64_t>(length, 1, length))
    return std::nullopt;
  return length;
}

std::optional<int64_t> WindowDim::countPlaces(int64_t extent) const {
  std::optional<int64_t> base = spread(extent, baseDilation), window = spread(size, windowDilation);
  int64_t padded;
  if (!base || !window || llvm::AddOverflow(*base, low, padded) || llvm::AddOverflow(padded, high, padded))
    return std::nullopt;
  return padded < *window ? 0 : (padded - *window) / stride + 1;
}

std::pair<int64_t, int64_t> WindowDim::findSlice(int64_t element, int64_t places) const {
  int64_t first = element * windowDilation;
  return {first, first + (places - 1) * stride + 1};
}

SmallVector<SmallVector<int64_t>> net::listElements(ArrayRef<int64_t> sizes) {
  SmallVector<SmallVector<int64_t>> elements(1);
  for (int64_t size : sizes) {
    SmallVector<SmallVector<int64_t>> longer;
    for (const SmallVector<int64_t> &element : elements)
      for (int64_t index = 0; index != size; ++index) {
        longer.push_back(element);
        longer.back().push_back(index);
      }
    elements = std::move(longer);
  }
  return elements;
}

//===----------------------------------------------------------------------===//
// Functions that the verifiers share
//===----------------------------------------------------------------------===//

static InFlightDiagnostic &printShape(InFlightDiagnostic &diagnostic, ArrayRef<int64_t> shape) {
  diagnostic << "[";
  llvm::interleaveComma(shape, diagnostic);
  return diagnostic << "]";
}

static LogicalResult verifyShape(Operation *op, ArrayRef<int64_t> expected, ArrayRef<int64_t> actual, StringRef what) {
  if (expected == actual)
    return success();
  auto diagnostic = op->emitOpError() << "has " << what << " of shape ";
  printShape(diagnostic, actual) << " but its operands and attributes make ";
  return printShape(diagnostic, expected);
}

static LogicalResult verifyCount(Operation *op, size_t count, size_t dims, StringRef what) {
  if (count != dims)
    return op->emitOpError() << "has " << count << " " << what << " for " << dims << " dimensions";
  return success();
}

static LogicalResult verifyPositive(Operation *op, ArrayRef<int64_t> list, size_t dims, StringRef what) {
  if (failed(verifyCount(op, list.size(), dims, what)))
    return failure();
  for (int64_t value : list)
    if (value < 1)
      return op->emitOpError() << "has " << value << " among its " << what << ", which are positive";
  return success();
}

/// The number of places of `window` along dimension `dim` of `extent`; emits an error if it overflows.
static FailureOr<int64_t> countPlaces(Operation *op, WindowDim window, int64_t dim, int64_t extent) {
  if (std::optional<int64_t> places = window.countPlaces(extent))
    return *places;
  return op->emitOpError() << "spreads and pads dimension " << dim << " of size " << extent
                           << " beyond what 64 bits count";
}

//===----------------------------------------------------------------------===//
// Convolution
//===----------------------------------------------------------------------===//

WindowDim ConvolutionOp::getWindow(unsigned index) {
  return {typeOf(getRhs()).getDimSize(getDims().getRhsSpatial()[index]),
          getStrides()[index],
          getLow()[index],
          getHigh()[index],
          getLhsDilation()[index],
          getRhsDilation()[index]};
}

bool ConvolutionOp::isPointwise(unsigned index) { return getWindow(index).isTrivial(); }

/// Checks that `batch`, `feature` and `spatial` are the dimensions of a tensor of `rank`.
static LogicalResult verifyDims(Operation *op, int64_t batch, int64_t feature, ArrayRef<int64_t> spatial, int64_t rank,
                                StringRef what) {
  if (rank != static_cast<int64_t>(spatial.size()) + 2)
    return op->emitOpError() << "names " << spatial.size() + 2 << " dimensions of " << what << " of rank " << rank;
  llvm::SmallBitVector seen(rank);
  SmallVector<int64_t> dims = {batch, feature};
  llvm::append_range(dims, spatial);
  for (int64_t dim : dims) {
    if (dim < 0 || dim >= rank || seen.test(dim))
      return op->emitOpError() << "names dimension " << dim << " of " << what << " of rank " << rank
                               << ", which is not there or stands twice";
    seen.set(dim);
  }
  return success();
}

static LogicalResult verifyGroups(ConvolutionOp op) {
  ConvolutionDimsAttr dims = op.getDims();
  int64_t groups = op.getGroups(), batchGroups = op.getBatchGroups();
  int64_t features = typeOf(op.getLhs()).getDimSize(dims.getLhsFeature());
  int64_t batch = typeOf(op.getLhs()).getDimSize(dims.getLhsBatch());
  int64_t outputs = typeOf(op.getRhs()).getDimSize(dims.getRhsOutput());
  int64_t inputs = typeOf(op.getRhs()).getDimSize(dims.getRhsInput());
  // convolution_c3
  if (groups < 1 || batchGroups < 1 || (groups > 1 && batchGroups > 1))
    return op.emitOpError() << "has " << groups << " groups of features and " << batchGroups
                            << " of the batch; both are positive and one is 1";
  if (features % groups != 0 || outputs % groups != 0)
    return op.emitOpError() << "has " << groups << " groups of " << features << " input and " << outputs
                            << " output features";
  if (batch % batchGroups != 0 || outputs % batchGroups != 0)
    return op.emitOpError() << "has " << batchGroups << " groups of a batch of " << batch << " and of " << outputs
                            << " output features";
  // convolution_c4
  if (features / groups != inputs)
    return op.emitOpError() << "has " << features / groups << " input features in a group but a kernel for " << inputs;
  return success();
}

LogicalResult ConvolutionOp::verify() {
  ConvolutionDimsAttr dims = getDims();
  size_t spatial = dims.getLhsSpatial().size();
  // convolution_c1
  if (failed(verifyDims(*this, dims.getLhsBatch(), dims.getLhsFeature(), dims.getLhsSpatial(),
                        typeOf(getLhs()).getRank(), "the left operand")) ||
      failed(verifyDims(*this, dims.getRhsInput(), dims.getRhsOutput(), dims.getRhsSpatial(),
                        typeOf(getRhs()).getRank(), "the right operand")) ||
      failed(verifyDims(*this, dims.getOutBatch(), dims.getOutFeature(), dims.getOutSpatial(),
                        typeOf(getResult()).getRank(), "the result")))
    return failure();
  if (dims.getRhsSpatial().size() != spatial || dims.getOutSpatial().size() != spatial)
    return emitOpError() << "has " << spatial << ", " << dims.getRhsSpatial().size() << " and "
                         << dims.getOutSpatial().size() << " spatial dimensions";
  // convolution_c2
  if (failed(verifyPositive(*this, getStrides(), spatial, "strides")) ||
      failed(verifyCount(*this, getLow().size(), spatial, "low paddings")) ||
      failed(verifyCount(*this, getHigh().size(), spatial, "high paddings")) ||
      failed(verifyPositive(*this, getLhsDilation(), spatial, "lhs dilations")) ||
      failed(verifyPositive(*this, getRhsDilation(), spatial, "rhs dilations")) ||
      failed(verifyCount(*this, getReversed().size(), spatial, "reversals")) || failed(verifyGroups(*this)))
    return failure();
  // convolution_c5
  SmallVector<int64_t> expected(spatial + 2);
  expected[dims.getOutBatch()] = typeOf(getLhs()).getDimSize(dims.getLhsBatch()) / getBatchGroups();
  expected[dims.getOutFeature()] = typeOf(getRhs()).getDimSize(dims.getRhsOutput());
  for (size_t index = 0; index < spatial; ++index) {
    int64_t dim = dims.getLhsSpatial()[index];
    FailureOr<int64_t> places = countPlaces(*this, getWindow(index), dim, typeOf(getLhs()).getDimSize(dim));
    if (failed(places))
      return failure();
    expected[dims.getOutSpatial()[index]] = *places;
  }
  return verifyShape(*this, expected, typeOf(getResult()).getShape(), "a result");
}

//===----------------------------------------------------------------------===//
// Windows over all dimensions
//===----------------------------------------------------------------------===//

template <typename OpT> static WindowDim getWindowOf(OpT op, unsigned index) {
  return {op.getSizes()[index], op.getStrides()[index],      op.getLow()[index],
          op.getHigh()[index],  op.getBaseDilation()[index], op.getWindowDilation()[index]};
}

WindowDim ReduceWindowOp::getWindow(unsigned index) { return getWindowOf(*this, index); }
WindowDim SelectAndScatterOp::getWindow(unsigned index) { return getWindowOf(*this, index); }

/// Checks the windows, and that their numbers of places are the shape of `windows`, which messages call `what`.
template <typename OpT> static LogicalResult verifyWindows(OpT op, Value windows, StringRef what) {
  ArrayRef<int64_t> shape = typeOf(op.getOperand()).getShape();
  size_t rank = shape.size();
  // reduce_window_c1, select_and_scatter_c1
  if (failed(verifyPositive(op, op.getSizes(), rank, "window sizes")) ||
      failed(verifyPositive(op, op.getStrides(), rank, "strides")) ||
      failed(verifyCount(op, op.getLow().size(), rank, "low paddings")) ||
      failed(verifyCount(op, op.getHigh().size(), rank, "high paddings")) ||
      failed(verifyPositive(op, op.getBaseDilation(), rank, "base dilations")) ||
      failed(verifyPositive(op, op.getWindowDilation(), rank, "window dilations")))
    return failure();
  SmallVector<int64_t> expected;
  for (auto [dim, extent] : llvm::enumerate(shape)) {
    FailureOr<int64_t> places = countPlaces(op, op.getWindow(dim), dim, extent);
    if (failed(places))
      return failure();
    expected.push_back(*places);
  }
  // reduce_window_c2, select_and_scatter_c2
  return verifyShape(op, expected, typeOf(windows).getShape(), what);
}

LogicalResult ReduceWindowOp::verify() {
  // reduce_window_c3
  if (getKind() == ReduceKind::Tree)
    return emitOpError() << "reduces by tree, which is of placements and collectives; it is sum here";
  return verifyWindows(*this, getResult(), "a result");
}

LogicalResult SelectAndScatterOp::verify() {
  if (failed(verifyShape(*this, typeOf(getOperand()).getShape(), typeOf(getResult()).getShape(), "a result")))
    return failure();
  return verifyWindows(*this, getSource(), "a source");
}
