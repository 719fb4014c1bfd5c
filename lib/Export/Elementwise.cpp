//===- Elementwise.cpp - forms of elementwise operations ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Most operations have the same mnemonic in StableHLO or in CHLO, whose functions JAX expands.
//
//===----------------------------------------------------------------------===//

#include "Forms.h"
#include "dialects/Net/Net.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::exporter;

/// The operation of the same mnemonic in StableHLO.
template <typename OpT> static Terms writeSame(OpT op, Writer &writer) {
  std::string name = ("stablehlo." + op->getName().stripDialect()).str();
  return {writer.op(name, writer.get(op->getOperands()), op.getType())};
}

/// The operation of the same mnemonic in CHLO, whose short form always has the type of the result.
template <typename OpT> static Terms writeInCHLO(OpT op, Writer &writer) {
  std::string name = ("chlo." + op->getName().stripDialect()).str();
  return writer.generic(name, writer.get(op->getOperands()), op->getResultTypes(), "");
}

static Terms writeCompare(net::CompareOp op, Writer &writer) {
  std::string direction = net::stringifyCompareDirection(op.getDirection()).upper();
  return {writer.compare(direction, writer.get(op.getLhs()), writer.get(op.getRhs()), op.getTotalOrder())};
}

static Terms writeSelect(net::SelectOp op, Writer &writer) {
  return {writer.select(writer.get(op.getPredicate()), writer.get(op.getOnTrue()), writer.get(op.getOnFalse()))};
}

static Terms writeReducePrecision(net::ReducePrecisionOp op, Writer &writer) {
  return {writer.op("stablehlo.reduce_precision", writer.get(op.getOperand()), op.getType(),
                    ", format = e" + Twine(op.getExponent()) + "m" + Twine(op.getMantissa()))};
}

template <typename... OpT> static void attachSame(MLIRContext *context) {
  (attachForm<OpT, writeSame<OpT>>(context), ...);
}

template <typename... OpT> static void attachInCHLO(MLIRContext *context) {
  (attachForm<OpT, writeInCHLO<OpT>>(context), ...);
}

void exporter::attachElementwise(MLIRContext *context) {
  using namespace net;
  attachSame<AbsOp, AddOp, AndOp, Atan2Op, BitcastConvertOp, CbrtOp, CeilOp, ConvertOp, CosineOp, DivideOp, ExpOp,
             Expm1Op, FloorOp, IsFiniteOp, LogOp, Log1pOp, LogisticOp, MaximumOp, MinimumOp, MultiplyOp, NegateOp,
             NotOp, OrOp, PowerOp, RemainderOp, RoundOp, RsqrtOp, ShiftLeftOp, ShiftRightArithmeticOp,
             ShiftRightLogicalOp, SignOp, SineOp, SqrtOp, SubtractOp, TanOp, TanhOp, XorOp>(context);
  attachInCHLO<AcosOp, AcoshOp, AsinOp, AsinhOp, AtanhOp, CoshOp, DigammaOp, ErfOp, ErfcOp, LgammaOp, SinhOp>(context);
  attachForm<CompareOp, writeCompare>(context);
  attachForm<SelectOp, writeSelect>(context);
  attachForm<ReducePrecisionOp, writeReducePrecision>(context);
}
