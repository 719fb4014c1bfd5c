//===- Precisions.cpp - the types in which operations of net compute ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products are what hardware computes faster in 16 bit. Wide is what makes more of the rounding of its operands, or
// leaves the range of f16: sums, exponentials and what they are made of (hyperbolic functions, the tail of erfc),
// logarithms, powers and roots, functions with poles or infinite slopes, and factors of matrices. PyTorch's autocast
// draws the line at the same place. All other operations follow their operands.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Dist.h"
#include "dialects/Net/Net.h"
#include "dialects/Net/Precision.h"
#include "meshwright/Rules/Rules.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::net;

namespace {

template <typename OpT, Precision precision>
struct Always : PrecisionOpInterface::ExternalModel<Always<OpT, precision>, OpT> {
  Precision getPrecision(Operation *) const { return precision; }
};

/// The largest of 16-bit values is one of them; sums and products lose.
struct ReduceWindowPrecision : PrecisionOpInterface::ExternalModel<ReduceWindowPrecision, ReduceWindowOp> {
  Precision getPrecision(Operation *op) const {
    ReduceKind kind = cast<ReduceWindowOp>(op).getKind();
    return kind == ReduceKind::Sum || kind == ReduceKind::Product ? Precision::Wide : Precision::Follow;
  }
};

/// A scatter that adds or multiplies rounds in every place where updates meet, once for each of them.
struct ScatterPrecision : PrecisionOpInterface::ExternalModel<ScatterPrecision, ScatterOp> {
  Precision getPrecision(Operation *op) const {
    ScatterKind kind = cast<ScatterOp>(op).getKind();
    return kind == ScatterKind::Add || kind == ScatterKind::Multiply ? Precision::Wide : Precision::Follow;
  }
};

template <Precision precision, typename... OpTs> void attach(MLIRContext *context) {
  (OpTs::template attachInterface<Always<OpTs, precision>>(*context), ...);
}

void attachWide(MLIRContext *context) {
  attach<Precision::Wide, ReduceOp, ArgReduceOp, TotalOp, SelectAndScatterOp, CholeskyOp, TriangularSolveOp>(context);
  attach<Precision::Wide, AcosOp, AcoshOp, AsinOp, AsinhOp, AtanhOp, CbrtOp, CoshOp, DigammaOp, ErfcOp, ExpOp, Expm1Op,
         LgammaOp, LogOp, Log1pOp, PowerOp, RsqrtOp, SinhOp, SqrtOp, TanOp>(context);
  // The type is what they are about.
  attach<Precision::Wide, ConvertOp, BitcastConvertOp, VariableOp, ReadOp, AssignOp>(context);
}

void attachFollow(MLIRContext *context) {
  attach<Precision::Follow, AbsOp, AddOp, AndOp, Atan2Op, CeilOp, CompareOp, CosineOp, DivideOp, ErfOp, FloorOp,
         IsFiniteOp, LogisticOp, MaximumOp, MinimumOp, MultiplyOp, NegateOp, NotOp, OrOp, ReducePrecisionOp,
         RemainderOp, RoundOp, SelectOp, ShiftLeftOp, ShiftRightArithmeticOp, ShiftRightLogicalOp, SignOp, SineOp,
         SubtractOp, TanhOp, XorOp>(context);
  attach<Precision::Follow, ArgSortOp, BroadcastOp, ConcatenateOp, ConstantOp, DynamicSliceOp, DynamicUpdateSliceOp,
         GatherOp, IotaOp, PadOp, ReshapeOp, ReverseOp, SliceOp, TransposeOp>(context);
  attach<Precision::Follow, CarryOp, EndLoopOp, LoopOp, NextOp, StackOp, TakeOp>(context);
}

} // namespace

void meshwright::registerNetPrecisions(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, NetDialect *) {
    attach<Precision::Narrow, DotOp, ConvolutionOp>(context);
    attachWide(context);
    attachFollow(context);
    ReduceWindowOp::attachInterface<ReduceWindowPrecision>(*context);
    ScatterOp::attachInterface<ScatterPrecision>(*context);
  });
  registry.addExtension(
      +[](MLIRContext *context, dist::DistDialect *) { attach<Precision::Wide, dist::AccumulateOp>(context); });
}
