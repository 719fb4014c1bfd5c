//===- Conversion.cpp - attributes and bodies of operations ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Converters read attributes through `Conversion`, which checks that they exist and have the expected type, and accepts
// the spellings of several versions of StableHLO. No list of an attribute is expanded before its length is checked,
// since a splat of any length takes a few bytes of text. Reshapes and broadcasts are merged as they are built.
//
//===----------------------------------------------------------------------===//

#include "Lists.h"
#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::importer;

LogicalResult Conversion::expect(unsigned operands, unsigned results) {
  if (op->getNumOperands() == operands && op->getNumResults() == results)
    return success();
  return error() << "has " << op->getNumOperands() << " operands and " << op->getNumResults() << " results, not "
                 << operands << " and " << results;
}

LogicalResult Conversion::expectPairs(unsigned more) {
  unsigned count = op->getNumResults();
  if (count == 0)
    return error() << "has no results";
  return expect(2 * count + more, count);
}

/// The number of elements of the attribute's type, which may exceed the numbers it stores; empty if it overflows.
static std::optional<int64_t> countElements(DenseElementsAttr elements) {
  int64_t count = 1;
  for (int64_t size : elements.getType().getShape())
    if (llvm::MulOverflow(count, size, count))
      return std::nullopt;
  return count;
}

LogicalResult importer::checkLength(Conversion &conversion, DenseElementsAttr list, StringRef name) {
  // No list has more than two numbers per dimension.
  Operation *op = conversion.getOp();
  int64_t rank = 0;
  for (TypeRange types : {TypeRange(op->getOperandTypes()), TypeRange(op->getResultTypes())})
    for (Type type : types)
      rank = std::max(rank, cast<RankedTensorType>(type).getRank());
  std::optional<int64_t> count = countElements(list);
  if (count && *count <= 2 * rank)
    return success();
  return conversion.error() << "has a list of type " << list.getType() << " as \"" << name
                            << "\", which is longer than the " << 2 * rank << " numbers that tensors of rank " << rank
                            << " take at most";
}

/// Reads a list of integers in the spellings of several versions: `array<i64: 0>`, `dense<0> : tensor<1xi64>`.
static FailureOr<SmallVector<int64_t>> readDims(Conversion &conversion, Attribute attribute, StringRef name) {
  if (auto array = dyn_cast<DenseI64ArrayAttr>(attribute))
    return llvm::to_vector(array.asArrayRef());
  auto elements = dyn_cast<DenseIntElementsAttr>(attribute);
  if (!elements || !elements.getElementType().isInteger(64))
    return conversion.error() << "has " << attribute << " as \"" << name << "\", which is not a list of integers";
  // A splat stores one number for any number of elements.
  if (failed(checkLength(conversion, elements, name)))
    return failure();
  return llvm::to_vector(elements.getValues<int64_t>());
}

FailureOr<SmallVector<int64_t>> Conversion::getDims(StringRef name) {
  Attribute attribute = op->getAttr(name);
  if (!attribute)
    return error() << "has no attribute \"" << name << "\"";
  return readDims(*this, attribute, name);
}

FailureOr<int64_t> Conversion::getInt(StringRef name) {
  auto attribute = op->getAttrOfType<IntegerAttr>(name);
  if (!attribute || !attribute.getType().isInteger(64))
    return error() << "has no integer \"" << name << "\"";
  return attribute.getInt();
}

FailureOr<StringRef> Conversion::getWord(StringRef name) {
  auto attribute = op->getAttrOfType<StringAttr>(name);
  if (!attribute)
    return error() << "has no attribute \"" << name << "\"";
  return attribute.getValue();
}

FailureOr<SmallVector<int64_t>> Conversion::getEntry(StringRef dictionary, StringRef name) {
  auto entries = op->getAttrOfType<DictionaryAttr>(dictionary);
  if (!entries)
    return error() << "has no attribute \"" << dictionary << "\"";
  Attribute entry = entries.get(name);
  if (!entry)
    return SmallVector<int64_t>();
  return readDims(*this, entry, name);
}

FailureOr<int64_t> Conversion::getIntEntry(StringRef dictionary, StringRef name) {
  auto entries = op->getAttrOfType<DictionaryAttr>(dictionary);
  auto entry = entries ? entries.getAs<IntegerAttr>(name) : IntegerAttr();
  // The printer omits zeros.
  if (entries && !entries.get(name))
    return int64_t(0);
  if (!entry || !entry.getType().isInteger(64))
    return error() << "has no integer \"" << name << "\" in \"" << dictionary << "\"";
  return entry.getInt();
}

Value Conversion::annotate(Operation *built) {
  addAttributes(built, place);
  return built->getResult(0);
}

Value Conversion::createNamed(StringRef name, Type type, ValueRange operands) {
  return annotate(builder.create(OperationState(op->getLoc(), name, operands, type)));
}

Value Conversion::reshape(Value value, ArrayRef<int64_t> shape) {
  auto type = cast<RankedTensorType>(value.getType());
  while (type.getShape() != shape) {
    auto before = value.getDefiningOp<net::ReshapeOp>();
    if (!before)
      return create<net::ReshapeOp>(RankedTensorType::get(shape, type.getElementType()), value);
    value = before.getOperand();
    type = cast<RankedTensorType>(value.getType());
  }
  return value;
}

Value Conversion::broadcast(Value value, ArrayRef<int64_t> shape, ArrayRef<int64_t> dims) {
  auto type = cast<RankedTensorType>(value.getType());
  auto result = RankedTensorType::get(shape, type.getElementType());
  // Without repetition the broadcast is a reshape, which costs nothing.
  if (llvm::is_sorted(dims) && type.getNumElements() == result.getNumElements() && type.getNumElements() > 0)
    return reshape(value, shape);
  SmallVector<int64_t> kept, keptShape;
  for (auto [size, dim] : llvm::zip(type.getShape(), dims))
    if (size == shape[dim]) {
      kept.push_back(dim);
      keptShape.push_back(size);
    }
  value = reshape(value, keptShape);
  if (auto before = value.getDefiningOp<net::BroadcastOp>()) {
    value = before.getOperand();
    SmallVector<int64_t> joined;
    for (int64_t dim : before.getDims())
      joined.push_back(kept[dim]);
    kept = joined;
  }
  return create<net::BroadcastOp>(result, value, builder.getDenseI64ArrayAttr(kept));
}

Block *importer::getBody(Conversion &conversion, unsigned arguments, unsigned results, unsigned index,
                         unsigned regions) {
  Operation *op = conversion.getOp();
  if (op->getNumRegions() != regions || !op->getRegion(index).hasOneBlock()) {
    conversion.error() << "has " << op->getNumRegions() << " regions, not "
                       << (regions == 1 ? "one of one block" : "two of one block each");
    return nullptr;
  }
  Block &body = op->getRegion(index).front();
  Operation *end = body.empty() ? nullptr : &body.back();
  if (body.getNumArguments() != arguments || !end || end->getName().getStringRef() != "stablehlo.return" ||
      end->getNumOperands() != results) {
    conversion.error() << "has a body with " << body.getNumArguments() << " arguments that does not take " << arguments
                       << " and end in stablehlo.return of " << results;
    return nullptr;
  }
  return &body;
}

StringRef importer::getCombiner(Block &body, unsigned result, unsigned first, unsigned second) {
  Operation *combine = body.back().getOperand(result).getDefiningOp();
  if (!combine || combine->getBlock() != &body || combine->getNumOperands() != 2 || combine->getNumResults() != 1)
    return {};
  Value lhs = combine->getOperand(0), rhs = combine->getOperand(1);
  Value one = body.getArgument(first), other = body.getArgument(second);
  if ((lhs == one && rhs == other) || (lhs == other && rhs == one))
    return combine->getName().getStringRef();
  return {};
}
