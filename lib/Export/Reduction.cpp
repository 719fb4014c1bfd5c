//===- Reduction.cpp - forms of reductions --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Forms.h"
#include "dialects/Dist/Conversions.h"
#include "dialects/Net/Net.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::exporter;

Term exporter::writeNeutral(Writer &writer, ReduceKind kind, Type element) {
  if (kind == ReduceKind::Sum)
    return writer.constant(Builder(element.getContext()).getZeroAttr(element));
  return writer.constant(dist::getNeutralElement(kind, element));
}

static Terms writeReduce(net::ReduceOp op, Writer &writer) {
  Term operand = writer.get(op.getOperand());
  // Empty lists of dimensions reduce nothing, which StableHLO's short form takes as well.
  Term init = writeNeutral(writer, op.getKind(), operand.getElementType()), result = writer.makeTerm(op.getType());
  writer.line() << result.name << " = stablehlo.reduce(" << operand.name << " init: " << init.name << ") applies "
                << Writer::getCombiner(op.getKind()) << " across dimensions = " << list(op.getDims()) << " : ("
                << operand.type << ", " << init.type << ") -> " << result.type;
  writer.endLine();
  return {result};
}

/// JAX's argmax: of two pairs of value and index wins the better value, NaN above all, and among equal values the lower
/// index.
static Terms writeArgReduce(net::ArgReduceOp op, Writer &writer) {
  Term operand = writer.get(op.getOperand());
  Type element = operand.getElementType();
  bool isMax = op.getKind() == net::ArgKind::Max;
  auto indexType = cast<RankedTensorType>(op.getIndex().getType()).getElementType();
  Term index = writer.iota(indexType, operand.getShape(), op.getDim());
  ReduceKind worst = isMax ? ReduceKind::Max : ReduceKind::Min;
  if (element.isInteger(1))
    worst = isMax ? ReduceKind::Or : ReduceKind::And;
  Term value = writeNeutral(writer, worst, element), first = writer.integer(indexType, 0);
  auto scalar = RankedTensorType::get({}, element), position = RankedTensorType::get({}, indexType);
  auto writeBody = [&] {
    writer.writeBlock({scalar, position, scalar, position}, [&](ArrayRef<Term> in) -> Terms {
      Term isBetter = writer.compare(isMax ? "GT" : "LT", in[0], in[2]);
      Term isNaN = writer.compare("NE", in[0], in[0]);
      Term wins = writer.binary("stablehlo.or", isBetter, isNaN);
      Term isEqual = writer.compare("EQ", in[0], in[2]), isLower = writer.compare("LT", in[1], in[3]);
      Term ties = writer.binary("stablehlo.and", isEqual, isLower);
      Term takes = writer.binary("stablehlo.or", wins, ties);
      return {writer.select(wins, in[0], in[2]), writer.select(takes, in[1], in[3])};
    });
  };
  return writer.generic("stablehlo.reduce", {operand, index, value, first}, op->getResultTypes(),
                        "dimensions = " + array(op.getDim()), {writeBody});
}

void exporter::attachReduction(MLIRContext *context) {
  attachForm<net::ReduceOp, writeReduce>(context);
  attachForm<net::ArgReduceOp, writeArgReduce>(context);
}
