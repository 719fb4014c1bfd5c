//===- Window.cpp - derivatives of convolutions and sliding windows -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A convolution is linear in both operands, and its transposes are convolutions too: strides and dilations change
// places, features and batch do. With n the places of the window, s the stride, k the kernel's elements:
//
//   of lhs: the cotangent, spread by s, meets the kernel run backwards
//   of rhs: lhs meets the cotangent, spread by s, at the k places of the kernel's elements
//
//===----------------------------------------------------------------------===//

#include "Attach.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::net;
using namespace meshwright::net::derivative;

namespace {

/// The attributes of a convolution that is being made.
struct Windows {
  SmallVector<int64_t> strides, low, high, lhsDilation, rhsDilation;
  SmallVector<bool> reversed;

  void add(WindowDim window, bool isReversed) {
    strides.push_back(window.stride);
    low.push_back(window.low);
    high.push_back(window.high);
    lhsDilation.push_back(window.baseDilation);
    rhsDilation.push_back(window.windowDilation);
    reversed.push_back(isReversed);
  }
};

} // namespace

/// The window through which the cotangent of what `window` makes of a dimension of `extent` is seen from an element of
/// that dimension. Sizes were checked: nothing overflows.
static WindowDim transposeWindow(const WindowDim &window, int64_t extent) {
  int64_t places = *window.countPlaces(extent);
  int64_t kernel = *spread(window.size, window.windowDilation), base = *spread(extent, window.baseDilation);
  int64_t low = kernel - 1 - window.low;
  int64_t high = base + kernel - 1 - *spread(places, window.stride) - low;
  return {window.size, window.baseDilation, low, high, window.stride, window.windowDilation};
}

//===----------------------------------------------------------------------===//
// Convolution
//===----------------------------------------------------------------------===//

static Value convolve(NetBuilder &build, RankedTensorType type, Value lhs, Value rhs, ConvolutionDimsAttr dims,
                      const Windows &windows, int64_t groups, int64_t batchGroups) {
  return ConvolutionOp::create(build.builder, build.location, type, lhs, rhs, dims, windows.strides, windows.low,
                               windows.high, windows.lhsDilation, windows.rhsDilation, windows.reversed, groups,
                               batchGroups);
}

/// Divides dimension `from` of `x` into `groups` parts, major first, and makes their number the major part of dimension
/// `to`.
static Value moveGroups(NetBuilder &build, Value x, int64_t from, int64_t to, int64_t groups) {
  SmallVector<int64_t> shape(shapeOf(x)), split, order, merged(shape);
  if (groups == 1)
    return x;
  // The split dimension `from` becomes two: the groups, then the rest.
  for (auto [dim, size] : llvm::enumerate(shape)) {
    if (static_cast<int64_t>(dim) == from)
      split.push_back(groups);
    split.push_back(static_cast<int64_t>(dim) == from ? size / groups : size);
  }
  auto place = [&](int64_t dim) { return dim >= from ? dim + 1 : dim; };
  for (int64_t dim = 0, rank = shape.size(); dim < rank; ++dim) {
    if (dim == to)
      order.push_back(from);
    order.push_back(place(dim));
  }
  merged[from] /= groups;
  merged[to] *= groups;
  return build.reshape(build.transpose(build.reshape(x, split), order), merged);
}

static Value lhsCotangent(ConvolutionOp op, Context &c) {
  ConvolutionDimsAttr dims = op.getDims();
  ArrayRef<int64_t> shape = shapeOf(op.getLhs());
  int64_t groups = op.getGroups(), batchGroups = op.getBatchGroups(), both = groups * batchGroups;
  Windows windows;
  for (auto [index, dim] : llvm::enumerate(dims.getLhsSpatial()))
    windows.add(transposeWindow(op.getWindow(index), shape[dim]), !op.getReversed()[index]);
  // Groups of either kind are groups of the cotangent's features.
  Value kernel = moveGroups(c.build, c.build.convert(op.getRhs(), elementTypeOf(c.cotangent)), dims.getRhsOutput(),
                            dims.getRhsInput(), both);
  SmallVector<int64_t> made(shape);
  made[dims.getLhsBatch()] /= batchGroups;
  made[dims.getLhsFeature()] *= batchGroups;
  auto turned = ConvolutionDimsAttr::get(
      op.getContext(), dims.getOutBatch(), dims.getOutFeature(), dims.getOutSpatial(), dims.getRhsOutput(),
      dims.getRhsInput(), dims.getRhsSpatial(), dims.getLhsBatch(), dims.getLhsFeature(), dims.getLhsSpatial());
  Value result = convolve(c.build, typeOf(op.getLhs()).clone(made), c.cotangent, kernel, turned, windows, both, 1);
  return moveGroups(c.build, result, dims.getLhsFeature(), dims.getLhsBatch(), batchGroups);
}

static Value rhsCotangent(ConvolutionOp op, Context &c) {
  ConvolutionDimsAttr dims = op.getDims();
  Windows windows;
  SmallVector<int64_t> reversed;
  for (auto [index, dim] : llvm::enumerate(dims.getLhsSpatial())) {
    WindowDim window = op.getWindow(index);
    int64_t extent = shapeOf(op.getLhs())[dim], places = *window.countPlaces(extent);
    int64_t high = *spread(window.size, window.windowDilation) + *spread(places, window.stride) - 1 -
                   *spread(extent, window.baseDilation) - window.low;
    windows.add({places, window.windowDilation, window.low, high, window.baseDilation, window.stride}, false);
    if (op.getReversed()[index])
      reversed.push_back(dims.getRhsSpatial()[index]);
  }
  auto turned = ConvolutionDimsAttr::get(
      op.getContext(), dims.getLhsFeature(), dims.getLhsBatch(), dims.getLhsSpatial(), dims.getOutBatch(),
      dims.getOutFeature(), dims.getOutSpatial(), dims.getRhsInput(), dims.getRhsOutput(), dims.getRhsSpatial());
  Value lhs = c.build.convert(op.getLhs(), elementTypeOf(c.cotangent));
  Value result =
      convolve(c.build, typeOf(op.getRhs()), lhs, c.cotangent, turned, windows, op.getBatchGroups(), op.getGroups());
  return c.build.reverse(result, reversed);
}

static FailureOr<Cotangents> differentiateConvolution(ConvolutionOp op, Context c) {
  // An empty operand or result has a zero cotangent; the formulas below would divide by its sizes.
  auto isEmpty = [](Value value) { return typeOf(value).getNumElements() == 0; };
  if (isEmpty(op.getLhs()) || isEmpty(op.getRhs()) || isEmpty(op.getResult()))
    return Cotangents{Value(), Value()};
  return Cotangents{c.wanted.test(0) ? lhsCotangent(op, c) : Value(), c.wanted.test(1) ? rhsCotangent(op, c) : Value()};
}

//===----------------------------------------------------------------------===//
// Windows over all dimensions
//===----------------------------------------------------------------------===//

/// Every element of the operand gets the sum of `x`, which has an element for each window, over the windows that show
/// it.
static Value sumOverWindows(ReduceWindowOp op, NetBuilder &build, Value x) {
  SmallVector<int64_t> sizes;
  Windows windows;
  for (auto [dim, extent] : llvm::enumerate(shapeOf(op.getOperand()))) {
    WindowDim window = transposeWindow(op.getWindow(dim), extent);
    sizes.push_back(window.size);
    windows.add(window, false);
  }
  return ReduceWindowOp::create(build.builder, build.location, op.getOperand().getType(), ReduceKind::Sum, x, sizes,
                                windows.strides, windows.low, windows.high, windows.lhsDilation, windows.rhsDilation);
}

/// The operation `op` applied to another operand of the same type.
static Value reduceAlike(ReduceWindowOp op, NetBuilder &build, ReduceKind kind, Value x) {
  return ReduceWindowOp::create(build.builder, build.location, op.getResult().getType(), kind, x, op.getSizes(),
                                op.getStrides(), op.getLow(), op.getHigh(), op.getBaseDilation(),
                                op.getWindowDilation());
}

/// The products of the other elements, as in a reduction: those of all divided by an element that is not zero, and
/// where one alone is, for it the product of the rest.
static Value windowProductCotangent(ReduceWindowOp op, Context &c) {
  NetBuilder &build = c.build;
  Value x = op.getOperand(), isZero = build.compare(CompareDirection::Eq, x, build.splatLike(x, 0));
  Value zeros = reduceAlike(op, build, ReduceKind::Sum, build.convert(isZero, elementTypeOf(x)));
  Value nonzero = build.select(isZero, build.splatLike(x, 1), x);
  Value rest = build.multiply(c.cotangent, reduceAlike(op, build, ReduceKind::Product, nonzero));
  Value none = build.compare(CompareDirection::Eq, zeros, build.splatLike(zeros, 0));
  Value one = build.compare(CompareDirection::Eq, zeros, build.splatLike(zeros, 1));
  Value noRest = build.splatLike(rest, 0);
  Value forNonzero = sumOverWindows(op, build, build.select(none, rest, noRest));
  Value forZero = sumOverWindows(op, build, build.select(one, rest, noRest));
  return build.select(isZero, forZero, build.divide(forNonzero, nonzero));
}

static FailureOr<Cotangents> differentiateReduceWindow(ReduceWindowOp op, Context c) {
  if (typeOf(op.getOperand()).getNumElements() == 0 || typeOf(op.getResult()).getNumElements() == 0)
    return Cotangents{Value()};
  switch (op.getKind()) {
  case ReduceKind::Sum:
    return Cotangents{sumOverWindows(op, c.build, c.cotangent)};
  case ReduceKind::Max:
  case ReduceKind::Min: {
    ArgKind kind = op.getKind() == ReduceKind::Max ? ArgKind::Max : ArgKind::Min;
    return Cotangents{SelectAndScatterOp::create(
        c.build.builder, c.build.location, op.getOperand().getType(), kind, op.getOperand(), c.cotangent, op.getSizes(),
        op.getStrides(), op.getLow(), op.getHigh(), op.getBaseDilation(), op.getWindowDilation())};
  }
  case ReduceKind::Product:
    return Cotangents{windowProductCotangent(op, c)};
  default:
    return op.emitOpError() << "reduces floats by " << stringifyReduceKind(op.getKind()) << ", which has no derivative";
  }
}

//===----------------------------------------------------------------------===//
// Selection in windows
//===----------------------------------------------------------------------===//

namespace {

/// Takes from tensors of the operand's shape what stands at one element of every window.
class WindowElements {
public:
  explicit WindowElements(SelectAndScatterOp op) : op(op), counts(op.getSizes()) {
    for (auto [dim, extent] : llvm::enumerate(shapeOf(op.getOperand())))
      interior.push_back(op.getWindow(dim).baseDilation - 1);
  }

  int64_t getNumber() const {
    int64_t number = 1;
    for (int64_t count : counts)
      number = number > kMost ? number : number * count;
    return number;
  }
  /// `x` with gaps of zero, where windows stand.
  Value spread(NetBuilder &build, Value x) { return build.pad(x, 0, op.getLow(), op.getHigh(), interior); }
  /// Element `number` of the windows, in row-major order, of what was spread.
  Value take(NetBuilder &build, Value x, int64_t number) {
    size_t rank = counts.size();
    SmallVector<int64_t> starts(rank), limits(rank);
    for (size_t dim = rank; dim-- > 0; number /= counts[dim]) {
      starts[dim] = number % counts[dim] * op.getWindowDilation()[dim];
      limits[dim] = starts[dim] + (shapeOf(op.getSource())[dim] - 1) * op.getStrides()[dim] + 1;
    }
    return build.slice(x, starts, limits, op.getStrides());
  }

  /// The largest number of elements of a window that are visited one by one.
  static constexpr int64_t kMost = 64;

private:
  SelectAndScatterOp op;
  ArrayRef<int64_t> counts;
  SmallVector<int64_t> interior;
};

} // namespace

/// The cotangent of the source: what that of the result has where each window found its element. All windows go through
/// their elements together, and keep what they hold as the operation does.
static Value sourceCotangent(SelectAndScatterOp op, WindowElements &elements, Context &c) {
  NetBuilder &build = c.build;
  Value x = op.getOperand(), ones = build.splat(typeOf(x).clone(build.builder.getI1Type()), 1);
  Value spreadX = elements.spread(build, x), spreadCotangent = elements.spread(build, c.cotangent);
  Value isThere = elements.spread(build, ones), found, held, result;
  auto stays = op.getKind() == ArgKind::Max ? CompareDirection::Ge : CompareDirection::Le;
  for (int64_t number = 0, end = elements.getNumber(); number < end; ++number) {
    Value next = elements.take(build, spreadX, number), inside = elements.take(build, isThere, number);
    Value cotangent = elements.take(build, spreadCotangent, number);
    if (number == 0) {
      found = inside;
      held = next;
      result = build.select(inside, cotangent, build.splatLike(cotangent, 0));
      continue;
    }
    Value keeps = build.binary<AndOp>(found, build.compare(stays, held, next));
    Value takes = build.binary<AndOp>(inside, build.unary<NotOp>(keeps));
    found = build.binary<OrOp>(found, inside);
    held = build.select(takes, next, held);
    result = build.select(takes, cotangent, result);
  }
  return result;
}

static FailureOr<Cotangents> differentiateSelectAndScatter(SelectAndScatterOp op, Context c) {
  // The selected position is piecewise constant in the operand, so the operand gets no cotangent.
  if (!c.wanted.test(1) || typeOf(op.getOperand()).getNumElements() == 0 ||
      typeOf(op.getSource()).getNumElements() == 0)
    return Cotangents{Value(), Value()};
  WindowElements elements(op);
  if (elements.getNumber() > WindowElements::kMost)
    return op.emitOpError() << "has windows of more than " << WindowElements::kMost
                            << " elements, which its derivative does not go through";
  return Cotangents{Value(), sourceCotangent(op, elements, c)};
}

void derivative::attachWindow(MLIRContext *context) {
  attach<ConvolutionOp, differentiateConvolution>(context);
  attach<ReduceWindowOp, differentiateReduceWindow>(context);
  attach<SelectAndScatterOp, differentiateSelectAndScatter>(context);
}
