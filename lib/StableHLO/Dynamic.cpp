//===- Dynamic.cpp - dynamic_slice and dynamic_update_slice ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A slice at constant starts becomes a static slice, and an update at constant starts a concatenation: both can be
// split and moved, which dynamic ones cannot.
//
//===----------------------------------------------------------------------===//

#include "Conversion.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::importer;

/// Checks that a slice of shape `box` fits into `whole` and that the operands from `first` on are its starts: one
/// scalar per dimension, all of one integer type.
static LogicalResult verifyPlace(Conversion &conversion, RankedTensorType whole, RankedTensorType box, unsigned first) {
  unsigned count = conversion.getOp()->getNumOperands() - first;
  if (static_cast<int64_t>(count) != whole.getRank())
    return conversion.error() << "has " << count << " starts for an operand of rank " << whole.getRank();
  for (unsigned index = first; index < first + count; ++index) {
    RankedTensorType type = conversion.getOperandType(index);
    if (type.getRank() != 0 || !isa<IntegerType>(type.getElementType()) || type != conversion.getOperandType(first))
      return conversion.error() << "starts at a " << type << "; starts are scalars of one type of integers";
  }
  if (box.getRank() != whole.getRank() || box.getElementType() != whole.getElementType())
    return conversion.error() << "has a box of " << box << " in " << whole;
  for (auto [dim, size, boxSize] : llvm::enumerate(whole.getShape(), box.getShape()))
    if (boxSize > size)
      return conversion.error() << "has a box of size " << boxSize << " in dimension " << dim << " of size " << size;
  return success();
}

/// The constant start of a slice of size `boxSize` in a dimension of `size`, clamped; empty if it is not constant.
static std::optional<int64_t> getConstantStart(Value start, int64_t size, int64_t boxSize) {
  if (size == boxSize)
    return 0;
  DenseIntElementsAttr value;
  if (!matchPattern(start, m_Constant(&value)))
    return std::nullopt;
  APInt number = *value.value_begin<APInt>();
  if (value.getElementType().isUnsignedInteger())
    return static_cast<int64_t>(number.getLimitedValue(size - boxSize));
  return std::clamp<int64_t>(number.getSExtValue(), 0, size - boxSize);
}

/// The start of the slice in every dimension, if all are constant.
static std::optional<SmallVector<int64_t>> getPlace(ValueRange starts, ArrayRef<int64_t> whole, ArrayRef<int64_t> box) {
  SmallVector<int64_t> place;
  for (auto [start, size, boxSize] : llvm::zip_equal(starts, whole, box)) {
    std::optional<int64_t> known = getConstantStart(start, size, boxSize);
    if (!known)
      return std::nullopt;
    place.push_back(*known);
  }
  return place;
}

static Converted convertDynamicSlice(Conversion &conversion) {
  Operation *op = conversion.getOp();
  if (op->getNumOperands() == 0)
    return conversion.error() << "has no operands";
  if (failed(conversion.expect(op->getNumOperands())) ||
      failed(verifyPlace(conversion, conversion.getOperandType(0), conversion.getType(), 1)))
    return failure();
  FailureOr<SmallVector<int64_t>> sizes = conversion.getDims("slice_sizes");
  if (failed(sizes))
    return failure();
  ArrayRef<int64_t> whole = conversion.getOperandType(0).getShape(), box = conversion.getType().getShape();
  if (ArrayRef<int64_t>(*sizes) != box)
    return conversion.error() << "has a result of " << conversion.getType() << ", which is not of its slice_sizes";
  Expression expression(conversion);
  net::NetBuilder &b = expression.build;
  ValueRange starts = op->getOperands().drop_front();
  std::optional<SmallVector<int64_t>> place = getPlace(starts, whole, box);
  if (!place)
    return SmallVector<Value>{b.dynamicSlice(op->getOperand(0), starts, box)};
  SmallVector<int64_t> limits(*place);
  for (auto [limit, size] : llvm::zip_equal(limits, box))
    limit += size;
  return SmallVector<Value>{b.slice(op->getOperand(0), *place, limits, SmallVector<int64_t>(box.size(), 1))};
}

/// Replaces the slice of `whole` at `place` by `box`. Works from the last dimension to the first: concatenates `box`
/// with the parts of `whole` before and after it, which are cut to the slice in the dimensions still to come.
static Value surround(net::NetBuilder &b, Value whole, Value box, ArrayRef<int64_t> place) {
  int64_t rank = place.size();
  SmallVector<int64_t> starts(place), limits(place), steps(rank, 1), shape(net::shapeOf(whole));
  for (auto [limit, size] : llvm::zip_equal(limits, net::shapeOf(box)))
    limit += size;
  for (int64_t dim = rank - 1; dim >= 0; --dim) {
    int64_t start = starts[dim], limit = limits[dim];
    SmallVector<Value> parts;
    auto addPart = [&](int64_t from, int64_t to) {
      starts[dim] = from;
      limits[dim] = to;
      if (from < to)
        parts.push_back(b.slice(whole, starts, limits, steps));
    };
    addPart(0, start);
    parts.push_back(box);
    addPart(limit, shape[dim]);
    starts[dim] = 0;
    limits[dim] = shape[dim];
    if (parts.size() > 1)
      box = b.concatenate(parts, dim);
  }
  return box;
}

static Converted convertDynamicUpdateSlice(Conversion &conversion) {
  Operation *op = conversion.getOp();
  if (op->getNumOperands() < 2)
    return conversion.error() << "has " << op->getNumOperands() << " operands, not a tensor and a box at least";
  RankedTensorType whole = conversion.getOperandType(0), box = conversion.getOperandType(1);
  if (failed(conversion.expect(op->getNumOperands())) || failed(verifyPlace(conversion, whole, box, 2)))
    return failure();
  if (conversion.getType() != whole)
    return conversion.error() << "turns " << whole << " into " << conversion.getType();
  // An empty update writes nothing.
  if (box.getNumElements() == 0)
    return SmallVector<Value>{op->getOperand(0)};
  Expression expression(conversion);
  ValueRange starts = op->getOperands().drop_front(2);
  if (std::optional<SmallVector<int64_t>> place = getPlace(starts, whole.getShape(), box.getShape()))
    return SmallVector<Value>{surround(expression.build, op->getOperand(0), op->getOperand(1), *place)};
  return SmallVector<Value>{expression.build.dynamicUpdateSlice(op->getOperand(0), op->getOperand(1), starts)};
}

void importer::addDynamic(ConverterMap &converters) {
  converters["stablehlo.dynamic_slice"] = convertDynamicSlice;
  converters["stablehlo.dynamic_update_slice"] = convertDynamicUpdateSlice;
}
