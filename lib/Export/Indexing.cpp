//===- Indexing.cpp - forms of reads and writes at computed positions -----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Forms.h"
#include "dialects/Net/Net.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::exporter;

/// `name = [0, 1], ` unless the list is empty.
static std::string entry(StringRef name, ArrayRef<int64_t> dims) {
  return dims.empty() ? std::string() : (name + " = " + list(dims) + ", ").str();
}

static Terms writeGather(net::GatherOp op, Writer &writer) {
  net::GatherDimsAttr dims = op.getDims();
  std::string numbers = "dimension_numbers = #stablehlo.gather<" + entry("offset_dims", dims.getOffsetDims()) +
                        entry("collapsed_slice_dims", dims.getCollapsedDims()) +
                        entry("operand_batching_dims", dims.getOperandBatchingDims()) +
                        entry("start_indices_batching_dims", dims.getIndicesBatchingDims()) +
                        entry("start_index_map", dims.getStartIndexMap()) +
                        "index_vector_dim = " + std::to_string(dims.getIndexVectorDim()) + ">";
  return writer.generic("stablehlo.gather", {writer.get(op.getOperand()), writer.get(op.getIndices())},
                        op->getResultTypes(),
                        numbers + ", indices_are_sorted = false, slice_sizes = " + array(op.getSizes()));
}

static StringRef getCombiner(net::ScatterKind kind) {
  switch (kind) {
  case net::ScatterKind::Assign:
    return "";
  case net::ScatterKind::Add:
    return "stablehlo.add";
  case net::ScatterKind::Multiply:
    return "stablehlo.multiply";
  case net::ScatterKind::Max:
    return "stablehlo.maximum";
  case net::ScatterKind::Min:
    return "stablehlo.minimum";
  }
  return "";
}

static Terms writeScatter(net::ScatterOp op, Writer &writer) {
  net::ScatterDimsAttr dims = op.getDims();
  std::string numbers = "indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<" +
                        entry("update_window_dims", dims.getUpdateWindowDims()) +
                        entry("inserted_window_dims", dims.getInsertedDims()) +
                        entry("input_batching_dims", dims.getOperandBatchingDims()) +
                        entry("scatter_indices_batching_dims", dims.getIndicesBatchingDims()) +
                        entry("scatter_dims_to_operand_dims", dims.getScatterDimsToOperandDims()) +
                        "index_vector_dim = " + std::to_string(dims.getIndexVectorDim()) + ">, unique_indices = false";
  Term operand = writer.get(op.getOperand());
  Type scalar = RankedTensorType::get({}, operand.getElementType());
  StringRef combiner = getCombiner(op.getKind());
  auto writeBody = [&] {
    writer.writeBlock({scalar, scalar}, [&](ArrayRef<Term> in) -> Terms {
      return {combiner.empty() ? in[1] : writer.binary(combiner, in[0], in[1])};
    });
  };
  return writer.generic("stablehlo.scatter", {operand, writer.get(op.getIndices()), writer.get(op.getUpdates())},
                        op->getResultTypes(), numbers, {writeBody});
}

/// The starts in one type, which StableHLO asks for. Wide enough for all: they are clamped to the operand.
static Terms getStarts(OperandRange values, Writer &writer) {
  Terms starts = writer.get(values);
  if (llvm::all_of(starts, [&](const Term &start) { return start.type == starts.front().type; }))
    return starts;
  for (Term &start : starts)
    start = writer.convert(start, IntegerType::get(start.type.getContext(), 64));
  return starts;
}

static Terms writeDynamicSlice(net::DynamicSliceOp op, Writer &writer) {
  Terms operands = {writer.get(op.getOperand())};
  operands.append(getStarts(op.getStarts(), writer));
  return {writer.op("stablehlo.dynamic_slice", operands, op.getType(),
                    ", sizes = " + list(cast<RankedTensorType>(op.getType()).getShape()))};
}

static Terms writeDynamicUpdateSlice(net::DynamicUpdateSliceOp op, Writer &writer) {
  Terms operands = {writer.get(op.getOperand()), writer.get(op.getUpdate())};
  operands.append(getStarts(op.getStarts(), writer));
  return {writer.op("stablehlo.dynamic_update_slice", operands, op.getType())};
}

void exporter::attachIndexing(MLIRContext *context) {
  attachForm<net::DynamicSliceOp, writeDynamicSlice>(context);
  attachForm<net::DynamicUpdateSliceOp, writeDynamicUpdateSlice>(context);
  attachForm<net::GatherOp, writeGather>(context);
  attachForm<net::ScatterOp, writeScatter>(context);
}
