//===- Window.cpp - convolutions, windows, select_and_scatter -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Windows of StableHLO list padding and dilation per dimension. A window that covers a whole dimension up to its
// position is a cumulative operation and becomes a scan (`Cumulative.h`); other windows become `net.reduce_window`.
//
//===----------------------------------------------------------------------===//

#include "Cumulative.h"
#include "Lists.h"
#include "Reduction.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::importer;

/// The list `name` with `count` entries; all entries are `standard` if the attribute is missing.
static FailureOr<SmallVector<int64_t>> getList(Conversion &conversion, StringRef name, size_t count, int64_t standard) {
  if (!conversion.getOp()->hasAttr(name))
    return SmallVector<int64_t>(count, standard);
  FailureOr<SmallVector<int64_t>> list = conversion.getDims(name);
  if (succeeded(list) && list->size() != count)
    return conversion.error() << "has " << list->size() << " numbers as \"" << name << "\", not " << count;
  return list;
}

/// Every second number, from `first` on: padding alternates between low and high.
static SmallVector<int64_t> everySecond(ArrayRef<int64_t> numbers, size_t first) {
  SmallVector<int64_t> result;
  for (size_t index = first; index < numbers.size(); index += 2)
    result.push_back(numbers[index]);
  return result;
}

//===----------------------------------------------------------------------===//
// Convolution
//===----------------------------------------------------------------------===//

static FailureOr<net::ConvolutionDimsAttr> getConvolutionDims(Conversion &conversion) {
  static constexpr StringRef numberNames[] = {"input_batch_dimension",          "input_feature_dimension",
                                              "kernel_input_feature_dimension", "kernel_output_feature_dimension",
                                              "output_batch_dimension",         "output_feature_dimension"};
  static constexpr StringRef listNames[] = {"input_spatial_dimensions", "kernel_spatial_dimensions",
                                            "output_spatial_dimensions"};
  StringRef dictionary = "dimension_numbers";
  SmallVector<int64_t> numbers;
  SmallVector<SmallVector<int64_t>> lists;
  for (StringRef name : numberNames) {
    FailureOr<int64_t> number = conversion.getIntEntry(dictionary, name);
    if (failed(number))
      return failure();
    numbers.push_back(*number);
  }
  for (StringRef name : listNames) {
    FailureOr<SmallVector<int64_t>> list = conversion.getEntry(dictionary, name);
    if (failed(list))
      return failure();
    lists.push_back(*list);
  }
  return net::ConvolutionDimsAttr::get(conversion.getOp()->getContext(), numbers[0], numbers[1], lists[0], numbers[2],
                                       numbers[3], lists[1], numbers[4], numbers[5], lists[2]);
}

/// The spatial dimensions along which the kernel is reversed.
static FailureOr<SmallVector<bool>> getReversals(Conversion &conversion, size_t count) {
  SmallVector<bool> reversals(count, false);
  Attribute attribute = conversion.getOp()->getAttr("window_reversal");
  if (!attribute)
    return reversals;
  if (auto array = dyn_cast<DenseBoolArrayAttr>(attribute)) {
    reversals.assign(array.asArrayRef().begin(), array.asArrayRef().end());
  } else if (auto elements = dyn_cast<DenseIntElementsAttr>(attribute);
             elements && elements.getElementType().isInteger(1)) {
    if (failed(checkLength(conversion, elements, "window_reversal")))
      return failure();
    reversals.assign(elements.getValues<bool>().begin(), elements.getValues<bool>().end());
  } else {
    return conversion.error() << "has " << attribute << " as \"window_reversal\", which is not a list of booleans";
  }
  if (reversals.size() != count)
    return conversion.error() << "has " << reversals.size() << " numbers as \"window_reversal\", not " << count;
  return reversals;
}

static Converted convertConvolution(Conversion &conversion) {
  if (failed(conversion.expect(2)))
    return failure();
  FailureOr<net::ConvolutionDimsAttr> dims = getConvolutionDims(conversion);
  if (failed(dims))
    return failure();
  size_t count = dims->getLhsSpatial().size();
  FailureOr<SmallVector<int64_t>> strides = getList(conversion, "window_strides", count, 1);
  FailureOr<SmallVector<int64_t>> padding = getList(conversion, "padding", 2 * count, 0);
  FailureOr<SmallVector<int64_t>> lhsDilation = getList(conversion, "lhs_dilation", count, 1);
  FailureOr<SmallVector<int64_t>> rhsDilation = getList(conversion, "rhs_dilation", count, 1);
  FailureOr<SmallVector<bool>> reversals = getReversals(conversion, count);
  if (failed(strides) || failed(padding) || failed(lhsDilation) || failed(rhsDilation) || failed(reversals))
    return failure();
  FailureOr<int64_t> groups = conversion.getInt("feature_group_count");
  if (failed(groups))
    return failure();
  FailureOr<int64_t> batchGroups = conversion.getInt("batch_group_count");
  if (failed(batchGroups))
    return failure();
  Operation *op = conversion.getOp();
  Type type = conversion.getType();
  return SmallVector<Value>{conversion.create<net::ConvolutionOp>(
      type, op->getOperand(0), op->getOperand(1), *dims, *strides, everySecond(*padding, 0), everySecond(*padding, 1),
      *lhsDilation, *rhsDilation, *reversals, *groups, *batchGroups)};
}

//===----------------------------------------------------------------------===//
// Windows over all dimensions
//===----------------------------------------------------------------------===//

static FailureOr<WindowLists> getWindows(Conversion &conversion) {
  size_t rank = conversion.getOperandType(0).getRank();
  FailureOr<SmallVector<int64_t>> sizes = conversion.getDims("window_dimensions");
  if (succeeded(sizes))
    sizes = getList(conversion, "window_dimensions", rank, 1);
  FailureOr<SmallVector<int64_t>> strides = getList(conversion, "window_strides", rank, 1);
  FailureOr<SmallVector<int64_t>> padding = getList(conversion, "padding", 2 * rank, 0);
  FailureOr<SmallVector<int64_t>> baseDilation = getList(conversion, "base_dilations", rank, 1);
  FailureOr<SmallVector<int64_t>> windowDilation = getList(conversion, "window_dilations", rank, 1);
  if (failed(sizes) || failed(strides) || failed(padding) || failed(baseDilation) || failed(windowDilation))
    return failure();
  return WindowLists{*sizes, *strides, *padding, *baseDilation, *windowDilation};
}

/// Checks that `init` is a scalar of the element type of operand `index` and the result.
static LogicalResult verifyInit(Conversion &conversion, unsigned index, unsigned init, unsigned result) {
  RankedTensorType type = conversion.getOperandType(index), scalar = conversion.getOperandType(init);
  if (scalar.getRank() == 0 && scalar.getElementType() == type.getElementType() &&
      conversion.getType(result).getElementType() == type.getElementType())
    return success();
  return conversion.error() << "reduces " << type << " from " << scalar << " to " << conversion.getType(result);
}

/// Reduces operand `index` in the windows of a cumulative operation.
static Value cumulateOne(Conversion &conversion, unsigned index, Cumulation cumulation,
                         function_ref<Value(net::NetBuilder &, Value, Value)> combine) {
  Expression expression(conversion);
  return cumulate(expression.build, conversion.getOp()->getOperand(index), cumulation,
                  [&](Value a, Value b) { return combine(expression.build, a, b); });
}

static Value reduceOne(Conversion &conversion, unsigned index, ReduceKind kind, const WindowLists &windows) {
  Operation *op = conversion.getOp();
  RankedTensorType type = conversion.getType(index);
  Value result;
  if (auto cumulation = findCumulation(windows, conversion.getOperandType(index).getShape()))
    result = cumulateOne(conversion, index, *cumulation,
                         [&](net::NetBuilder &, Value a, Value b) { return combine(conversion, kind, a, b); });
  else
    result = conversion.create<net::ReduceWindowOp>(type, kind, op->getOperand(index), windows.sizes, windows.strides,
                                                    everySecond(windows.padding, 0), everySecond(windows.padding, 1),
                                                    windows.baseDilation, windows.windowDilation);
  return combineInit(conversion, kind, op->getOperand(op->getNumResults() + index), result);
}

/// Converts a cumulative logsumexp. Returns null, without an error, for any other window.
static Value convertCumulativeLogSumExp(Conversion &conversion, Block &body, const WindowLists &windows) {
  auto init = dyn_cast_or_null<FloatAttr>(getSplat(conversion.getOp()->getOperand(1)));
  auto cumulation = findCumulation(windows, conversion.getOperandType(0).getShape());
  if (!cumulation || !isLogAddExp(body) || !isNeutral(init, ReduceKind::Max))
    return {};
  return cumulateOne(conversion, 0, *cumulation, logAddExp);
}

static Converted convertReduceWindow(Conversion &conversion) {
  Operation *op = conversion.getOp();
  unsigned count = op->getNumResults();
  if (failed(conversion.expectPairs()))
    return failure();
  FailureOr<WindowLists> windows = getWindows(conversion);
  Block *body = failed(windows) ? nullptr : getBody(conversion, 2 * count, count);
  if (!body)
    return failure();
  for (unsigned index = 0; index < count; ++index) {
    if (failed(verifyInit(conversion, index, count + index, index)))
      return failure();
    if (conversion.getOperandType(index).getShape() != conversion.getOperandType(0).getShape())
      return conversion.error() << "reduces " << conversion.getOperandType(index) << " together with "
                                << conversion.getOperandType(0);
  }
  if (count == 1)
    if (Value result = convertCumulativeLogSumExp(conversion, *body, *windows))
      return SmallVector<Value>{result};
  FailureOr<SmallVector<ReduceKind>> kinds =
      getReduceKinds(conversion, *body, "the logarithm of a running sum of exponentials");
  if (failed(kinds))
    return failure();
  SmallVector<Value> results;
  for (auto [index, kind] : llvm::enumerate(*kinds))
    results.push_back(reduceOne(conversion, index, kind, *windows));
  return results;
}

static Converted convertSelectAndScatter(Conversion &conversion) {
  Operation *op = conversion.getOp();
  if (failed(conversion.expect(3)))
    return failure();
  FailureOr<WindowLists> windows = getWindows(conversion);
  if (failed(windows) || failed(verifyInit(conversion, 0, 2, 0)))
    return failure();
  Block *select = getBody(conversion, 2, 1, 0, 2), *scatter = select ? getBody(conversion, 2, 1, 1, 2) : nullptr;
  if (!scatter)
    return failure();
  auto selects = [&](StringRef direction) {
    return isCompare(select->back().getOperand(0), direction, select->getArgument(0), select->getArgument(1));
  };
  bool isMax = selects("GE");
  if ((!isMax && !selects("LE")) || getCombiner(*scatter, 0, 0, 1) != "stablehlo.add")
    return conversion.error() << "has bodies that are not known; selecting by GE or LE of the two elements and "
                                 "scattering by add is";
  Value result = conversion.create<net::SelectAndScatterOp>(
      conversion.getType(), isMax ? net::ArgKind::Max : net::ArgKind::Min, op->getOperand(0), op->getOperand(1),
      windows->sizes, windows->strides, everySecond(windows->padding, 0), everySecond(windows->padding, 1),
      windows->baseDilation, windows->windowDilation);
  return SmallVector<Value>{combineInit(conversion, ReduceKind::Sum, op->getOperand(2), result)};
}

void importer::addWindow(ConverterMap &converters) {
  converters["stablehlo.convolution"] = convertConvolution;
  converters["stablehlo.reduce_window"] = convertReduceWindow;
  converters["stablehlo.select_and_scatter"] = convertSelectAndScatter;
}
