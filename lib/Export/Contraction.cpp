//===- Contraction.cpp - forms of products --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Forms.h"
#include "dialects/Net/Net.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::exporter;

static Terms writeDot(net::DotOp op, Writer &writer) {
  Term lhs = writer.get(op.getLhs()), rhs = writer.get(op.getRhs());
  std::string dims;
  if (!op.getLhsBatch().empty())
    dims += ", batching_dims = " + list(op.getLhsBatch()) + " x " + list(op.getRhsBatch());
  dims += ", contracting_dims = " + list(op.getLhsContract()) + " x " + list(op.getRhsContract());
  Term result = writer.makeTerm(op.getType());
  writer.line() << result.name << " = stablehlo.dot_general " << lhs.name << ", " << rhs.name << dims
                << ", precision = [DEFAULT, DEFAULT] : (" << lhs.type << ", " << rhs.type << ") -> " << result.type;
  writer.endLine();
  return {result};
}

/// `[b, 0, 1, f]`: the letters of two dimensions and the numbers of the spatial ones, by position.
static std::string nameDims(char first, int64_t firstDim, char second, int64_t secondDim, ArrayRef<int64_t> spatial) {
  SmallVector<std::string> names(spatial.size() + 2);
  names[firstDim] = first;
  names[secondDim] = second;
  for (auto [number, dim] : llvm::enumerate(spatial))
    names[dim] = std::to_string(number);
  return "[" + llvm::join(names, ", ") + "]";
}

static Terms writeConvolution(net::ConvolutionOp op, Writer &writer) {
  net::ConvolutionDimsAttr dims = op.getDims();
  std::string numbers = nameDims('b', dims.getLhsBatch(), 'f', dims.getLhsFeature(), dims.getLhsSpatial()) + "x" +
                        nameDims('i', dims.getRhsInput(), 'o', dims.getRhsOutput(), dims.getRhsSpatial()) + "->" +
                        nameDims('b', dims.getOutBatch(), 'f', dims.getOutFeature(), dims.getOutSpatial());
  std::string padding, reversed;
  for (auto [index, low, high, reverse] : llvm::enumerate(op.getLow(), op.getHigh(), op.getReversed())) {
    StringRef comma = index ? ", " : "";
    padding += (comma + list({low, high})).str();
    reversed += (comma + (reverse ? "true" : "false")).str();
  }
  Term lhs = writer.get(op.getLhs()), rhs = writer.get(op.getRhs()), result = writer.makeTerm(op.getType());
  writer.line() << result.name << " = stablehlo.convolution(" << lhs.name << ", " << rhs.name
                << ") dim_numbers = " << numbers << ", window = {stride = " << list(op.getStrides()) << ", pad = ["
                << padding << "], lhs_dilate = " << list(op.getLhsDilation())
                << ", rhs_dilate = " << list(op.getRhsDilation()) << ", reverse = [" << reversed
                << "]} {batch_group_count = " << op.getBatchGroups()
                << " : i64, feature_group_count = " << op.getGroups() << " : i64} : (" << lhs.type << ", " << rhs.type
                << ") -> " << result.type;
  writer.endLine();
  return {result};
}

void exporter::attachContraction(MLIRContext *context) {
  attachForm<net::DotOp, writeDot>(context);
  attachForm<net::ConvolutionOp, writeConvolution>(context);
}
