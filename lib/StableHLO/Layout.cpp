//===- Layout.cpp - constants and layout operations of StableHLO ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Layout operations map one to one to net. Constants are taken as they are, including those whose values are stored at
// the end of the text.
//
//===----------------------------------------------------------------------===//

#include "Conversion.h"
#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::importer;

/// The elements of a constant stored at the end of the text, in `dialect_resources`.
static FailureOr<DenseElementsAttr> readResource(Conversion &conversion, DenseResourceElementsAttr value) {
  AsmResourceBlob *blob = value.getRawHandle().getBlob();
  if (!blob)
    return conversion.error() << "has values " << value.getRawHandle().getKey()
                              << " that are not in the text; print large constants in full, as as_text() of JAX's "
                              << "lowered function does";
  auto type = cast<ShapedType>(value.getType());
  bool isSplat = false;
  bool isValid = DenseElementsAttr::isValidRawBuffer(type, blob->getData(), isSplat);
  // A single element is not a splat here: the remaining bytes are missing.
  if (!isValid || (isSplat && type.getNumElements() != 1))
    return conversion.error() << "of " << type << " has " << blob->getData().size()
                              << " bytes of values in dialect_resources, which is not what it takes";
  return DenseElementsAttr::getFromRawBuffer(type, blob->getData());
}

static FailureOr<DenseElementsAttr> getElements(Conversion &conversion) {
  Attribute value = conversion.getOp()->getAttr("value");
  if (auto resource = dyn_cast_or_null<DenseResourceElementsAttr>(value))
    return readResource(conversion, resource);
  if (auto dense = dyn_cast_or_null<DenseElementsAttr>(value))
    return dense;
  return conversion.error() << "has no dense value";
}

static Converted convertConstant(Conversion &conversion) {
  if (failed(conversion.expect(0)))
    return failure();
  FailureOr<DenseElementsAttr> value = getElements(conversion);
  if (failed(value))
    return failure();
  if (value->getType() != conversion.getType())
    return conversion.error() << "of " << conversion.getType() << " has a value of " << value->getType();
  return SmallVector<Value>{conversion.create<net::ConstantOp>(conversion.getType(), ElementsAttr(*value))};
}

static Converted convertIota(Conversion &conversion) {
  if (failed(conversion.expect(0)))
    return failure();
  FailureOr<int64_t> dim = conversion.getInt("iota_dimension");
  if (failed(dim))
    return failure();
  return SmallVector<Value>{conversion.create<net::IotaOp>(conversion.getType(), *dim)};
}

/// Checks that the result has the operand's element type.
static LogicalResult expectElementType(Conversion &conversion) {
  if (conversion.getOperandType(0).getElementType() == conversion.getType().getElementType())
    return success();
  return conversion.error() << "turns " << conversion.getOperandType(0) << " into " << conversion.getType();
}

static Converted convertBroadcast(Conversion &conversion) {
  if (failed(conversion.expect(1)) || failed(expectElementType(conversion)))
    return failure();
  FailureOr<SmallVector<int64_t>> dims = conversion.getDims("broadcast_dimensions");
  if (failed(dims))
    return failure();
  ArrayRef<int64_t> from = conversion.getOperandType(0).getShape(), to = conversion.getType().getShape();
  if (dims->size() != from.size())
    return conversion.error() << "has " << dims->size() << " dims for an operand of rank " << from.size();
  llvm::SmallDenseSet<int64_t> seen;
  for (auto [index, dim] : llvm::enumerate(*dims)) {
    if (dim < 0 || dim >= static_cast<int64_t>(to.size()) || !seen.insert(dim).second)
      return conversion.error() << "maps dimension " << index << " to " << dim << ", which is taken or not one of the "
                                << to.size() << " of the result";
    if (from[index] != to[dim] && from[index] != 1)
      return conversion.error() << "maps dimension " << index << " of size " << from[index] << " to dimension " << dim
                                << " of size " << to[dim];
  }
  return SmallVector<Value>{conversion.broadcast(conversion.getOp()->getOperand(0), to, *dims)};
}

static Converted convertReshape(Conversion &conversion) {
  if (failed(conversion.expect(1)) || failed(expectElementType(conversion)))
    return failure();
  int64_t from = conversion.getOperandType(0).getNumElements(), to = conversion.getType().getNumElements();
  if (from != to)
    return conversion.error() << "turns " << from << " elements into " << to;
  return SmallVector<Value>{conversion.reshape(conversion.getOp()->getOperand(0), conversion.getType().getShape())};
}

static Converted convertTranspose(Conversion &conversion) {
  if (failed(conversion.expect(1)))
    return failure();
  FailureOr<SmallVector<int64_t>> dims = conversion.getDims("permutation");
  if (failed(dims))
    return failure();
  return SmallVector<Value>{conversion.create<net::TransposeOp>(conversion.getType(), conversion.getOp()->getOperand(0),
                                                                conversion.getBuilder().getDenseI64ArrayAttr(*dims))};
}

static Converted convertSlice(Conversion &conversion) {
  if (failed(conversion.expect(1)))
    return failure();
  FailureOr<SmallVector<int64_t>> starts = conversion.getDims("start_indices");
  FailureOr<SmallVector<int64_t>> limits = conversion.getDims("limit_indices");
  FailureOr<SmallVector<int64_t>> steps = conversion.getDims("strides");
  if (failed(starts) || failed(limits) || failed(steps))
    return failure();
  return SmallVector<Value>{conversion.create<net::SliceOp>(conversion.getType(), conversion.getOp()->getOperand(0),
                                                            *starts, *limits, *steps)};
}

static Converted convertPad(Conversion &conversion) {
  if (failed(conversion.expect(2)))
    return failure();
  FailureOr<SmallVector<int64_t>> low = conversion.getDims("edge_padding_low");
  FailureOr<SmallVector<int64_t>> high = conversion.getDims("edge_padding_high");
  FailureOr<SmallVector<int64_t>> interior = conversion.getDims("interior_padding");
  if (failed(low) || failed(high) || failed(interior))
    return failure();
  Operation *op = conversion.getOp();
  return SmallVector<Value>{conversion.create<net::PadOp>(conversion.getType(), op->getOperand(0), op->getOperand(1),
                                                          *low, *high, *interior)};
}

static Converted convertConcatenate(Conversion &conversion) {
  FailureOr<int64_t> dim = conversion.getInt("dimension");
  if (failed(dim) || failed(conversion.expect(conversion.getOp()->getNumOperands())))
    return failure();
  return SmallVector<Value>{
      conversion.create<net::ConcatenateOp>(conversion.getType(), conversion.getOp()->getOperands(), *dim)};
}

void importer::addLayout(ConverterMap &converters) {
  converters["stablehlo.constant"] = convertConstant;
  converters["stablehlo.iota"] = convertIota;
  converters["stablehlo.broadcast_in_dim"] = convertBroadcast;
  converters["stablehlo.reshape"] = convertReshape;
  converters["stablehlo.transpose"] = convertTranspose;
  converters["stablehlo.slice"] = convertSlice;
  converters["stablehlo.pad"] = convertPad;
  converters["stablehlo.concatenate"] = convertConcatenate;
}
