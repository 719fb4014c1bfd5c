//===- Layout.cpp - forms of operations that move elements ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Forms.h"
#include "dialects/Net/Net.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::exporter;

static Terms writeConstant(net::ConstantOp op, Writer &writer) { return {writer.constant(op.getValue())}; }

static Terms writeIota(net::IotaOp op, Writer &writer) {
  auto type = cast<RankedTensorType>(op.getType());
  return {writer.iota(type.getElementType(), type.getShape(), op.getDim())};
}

static Terms writeBroadcast(net::BroadcastOp op, Writer &writer) {
  return {writer.broadcast(writer.get(op.getOperand()), cast<RankedTensorType>(op.getType()).getShape(), op.getDims())};
}

static Terms writeReshape(net::ReshapeOp op, Writer &writer) {
  return {writer.reshape(writer.get(op.getOperand()), cast<RankedTensorType>(op.getType()).getShape())};
}

static Terms writeTranspose(net::TransposeOp op, Writer &writer) {
  return {writer.transpose(writer.get(op.getOperand()), op.getPermutation())};
}

static Terms writeReverse(net::ReverseOp op, Writer &writer) {
  return {writer.op("stablehlo.reverse", writer.get(op.getOperand()), op.getType(), ", dims = " + list(op.getDims()))};
}

static Terms writeSlice(net::SliceOp op, Writer &writer) {
  // The short form has no type for a slice of everything, which a part of a split dimension can be.
  if (op.getOperand().getType() == op.getType())
    return {writer.get(op.getOperand())};
  std::string box = " [";
  for (auto [dim, start, limit, step] : llvm::enumerate(op.getStarts(), op.getLimits(), op.getSteps())) {
    box += (dim ? ", " : "") + std::to_string(start) + ":" + std::to_string(limit);
    if (step != 1)
      box += ":" + std::to_string(step);
  }
  return {writer.op("stablehlo.slice", writer.get(op.getOperand()), op.getType(), box + "]")};
}

static Terms writePad(net::PadOp op, Writer &writer) {
  return {writer.op("stablehlo.pad", {writer.get(op.getOperand()), writer.get(op.getValue())}, op.getType(),
                    ", low = " + list(op.getLow()) + ", high = " + list(op.getHigh()) +
                        ", interior = " + list(op.getInterior()))};
}

static Terms writeConcatenate(net::ConcatenateOp op, Writer &writer) {
  return {
      writer.op("stablehlo.concatenate", writer.get(op.getOperands()), op.getType(), ", dim = " + Twine(op.getDim()))};
}

void exporter::attachLayout(MLIRContext *context) {
  attachForm<net::BroadcastOp, writeBroadcast>(context);
  attachForm<net::ConcatenateOp, writeConcatenate>(context);
  attachForm<net::ConstantOp, writeConstant>(context);
  attachForm<net::IotaOp, writeIota>(context);
  attachForm<net::PadOp, writePad>(context);
  attachForm<net::ReshapeOp, writeReshape>(context);
  attachForm<net::ReverseOp, writeReverse>(context);
  attachForm<net::SliceOp, writeSlice>(context);
  attachForm<net::TransposeOp, writeTranspose>(context);
}
