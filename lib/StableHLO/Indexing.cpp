//===- Indexing.cpp - gather and scatter of StableHLO ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Conversion.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::importer;

/// Checks that operand `index` is a tensor of integers.
static LogicalResult expectIndices(Conversion &conversion, unsigned index) {
  Type element = conversion.getOperandType(index).getElementType();
  if (isa<IntegerType>(element) && !element.isInteger(1))
    return success();
  return conversion.error() << "has positions of " << conversion.getOperandType(index) << ", which are not integers";
}

static Converted convertGather(Conversion &conversion) {
  if (failed(conversion.expect(2)) || failed(expectIndices(conversion, 1)))
    return failure();
  StringRef dictionary = "dimension_numbers";
  FailureOr<SmallVector<int64_t>> offset = conversion.getEntry(dictionary, "offset_dims");
  if (failed(offset))
    return failure();
  FailureOr<SmallVector<int64_t>> collapsed = conversion.getEntry(dictionary, "collapsed_slice_dims");
  FailureOr<SmallVector<int64_t>> operandBatch = conversion.getEntry(dictionary, "operand_batching_dims");
  FailureOr<SmallVector<int64_t>> indicesBatch = conversion.getEntry(dictionary, "start_indices_batching_dims");
  FailureOr<SmallVector<int64_t>> map = conversion.getEntry(dictionary, "start_index_map");
  FailureOr<int64_t> vectorDim = conversion.getIntEntry(dictionary, "index_vector_dim");
  FailureOr<SmallVector<int64_t>> sizes = conversion.getDims("slice_sizes");
  if (failed(collapsed) || failed(operandBatch) || failed(indicesBatch) || failed(map) || failed(vectorDim) ||
      failed(sizes))
    return failure();
  Operation *op = conversion.getOp();
  auto dims =
      net::GatherDimsAttr::get(op->getContext(), *offset, *collapsed, *operandBatch, *indicesBatch, *map, *vectorDim);
  return SmallVector<Value>{conversion.create<net::GatherOp>(conversion.getType(), op->getOperand(0), op->getOperand(1),
                                                             dims,
                                                             conversion.getBuilder().getDenseI64ArrayAttr(*sizes))};
}

static FailureOr<net::ScatterDimsAttr> getScatterDims(Conversion &conversion) {
  StringRef dictionary = "scatter_dimension_numbers";
  FailureOr<SmallVector<int64_t>> window = conversion.getEntry(dictionary, "update_window_dims");
  if (failed(window))
    return failure();
  FailureOr<SmallVector<int64_t>> inserted = conversion.getEntry(dictionary, "inserted_window_dims");
  FailureOr<SmallVector<int64_t>> inputBatch = conversion.getEntry(dictionary, "input_batching_dims");
  FailureOr<SmallVector<int64_t>> indicesBatch = conversion.getEntry(dictionary, "scatter_indices_batching_dims");
  FailureOr<SmallVector<int64_t>> map = conversion.getEntry(dictionary, "scatter_dims_to_operand_dims");
  FailureOr<int64_t> vectorDim = conversion.getIntEntry(dictionary, "index_vector_dim");
  if (failed(inserted) || failed(inputBatch) || failed(indicesBatch) || failed(map) || failed(vectorDim))
    return failure();
  return net::ScatterDimsAttr::get(conversion.getOp()->getContext(), *window, *inserted, *inputBatch, *indicesBatch,
                                   *map, *vectorDim);
}

/// The combiner of a scatter for result `index` of `count`. The body's arguments are the old elements, then the
/// updates.
static std::optional<net::ScatterKind> getScatterKind(Block &body, unsigned index, unsigned count) {
  if (body.back().getOperand(index) == body.getArgument(count + index))
    return net::ScatterKind::Assign;
  // On i1, addition is maximum and multiplication is minimum.
  StringRef combiner = getCombiner(body, index, index, count + index);
  if (getElementTypeOrSelf(body.getArgument(index).getType()).isInteger(1))
    combiner = llvm::StringSwitch<StringRef>(combiner)
                   .Cases({"stablehlo.add", "stablehlo.or"}, "stablehlo.maximum")
                   .Cases({"stablehlo.multiply", "stablehlo.and"}, "stablehlo.minimum")
                   .Default(combiner);
  return llvm::StringSwitch<std::optional<net::ScatterKind>>(combiner)
      .Case("stablehlo.add", net::ScatterKind::Add)
      .Case("stablehlo.multiply", net::ScatterKind::Multiply)
      .Case("stablehlo.maximum", net::ScatterKind::Max)
      .Case("stablehlo.minimum", net::ScatterKind::Min)
      .Default(std::nullopt);
}

static Converted convertScatter(Conversion &conversion) {
  Operation *op = conversion.getOp();
  unsigned count = op->getNumResults();
  if (failed(conversion.expectPairs(/*more=*/1)) || failed(expectIndices(conversion, count)))
    return failure();
  FailureOr<net::ScatterDimsAttr> dims = getScatterDims(conversion);
  Block *body = failed(dims) ? nullptr : getBody(conversion, 2 * count, count);
  if (!body)
    return failure();
  SmallVector<Value> results;
  for (unsigned index = 0; index < count; ++index) {
    std::optional<net::ScatterKind> kind = getScatterKind(*body, index, count);
    if (!kind)
      return conversion.error() << "has a body that is not known; assigning, add, multiply, maximum and minimum are";
    results.push_back(conversion.create<net::ScatterOp>(conversion.getType(index), *kind, op->getOperand(index),
                                                        op->getOperand(count), op->getOperand(count + 1 + index),
                                                        *dims));
  }
  return results;
}

void importer::addIndexing(ConverterMap &converters) {
  converters["stablehlo.gather"] = convertGather;
  converters["stablehlo.scatter"] = convertScatter;
}
