//===- SplitSends.cpp - lets each replica send a piece of a value ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From stage to stage a value goes between ranks that agree in all other coordinates. If it is replicated over r of
// these ranks, r links of the pipeline, often the slow ones, carry the same bytes. This pass lets every replica send
// 1/r of the value, and the receivers all-gather the pieces along the other axes.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Conversions.h"
#include "dialects/Dist/Support.h"
#include "dialects/Dist/Times.h"
#include "dialects/Net/Net.h"
#include "meshwright/Optimize/Passes.h"
#include "meshwright/Support/Bytes.h"
#include "meshwright/Support/Units.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace meshwright::optimize {
#define GEN_PASS_DEF_SPLITSENDSPASS
#include "meshwright/Optimize/Passes.h.inc"
} // namespace meshwright::optimize

#define DEBUG_TYPE "dist-optimize-split-sends"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;

/// The axes of ranks on which a value in `placement` is replicated.
static SmallVector<Axis> findReplicated(const Placement &placement, const Mesh &mesh) {
  SmallVector<Axis> axes;
  for (Axis axis = 0; axis < mesh.getNumRankAxes(); ++axis)
    if (mesh.getSize(axis) > 1 && !placement.findSplit(axis) && !placement.isPartial(axis) &&
        !placement.getHolder(axis))
      axes.push_back(axis);
  return axes;
}

/// `placement` with `dim` also split over `axes`, the first outermost; nullopt if the parts would differ in size.
static std::optional<Placement> splitOver(Placement placement, unsigned dim, int64_t size, ArrayRef<Axis> axes,
                                          const Mesh &mesh) {
  int64_t extent = placement.dims[dim].empty() ? size : placement.dims[dim].back().stride;
  if (placement.isUneven(dim, mesh) || extent == 0 || extent % mesh.getGroupSize(axes) != 0)
    return std::nullopt;
  for (Axis axis : axes) {
    int64_t stride = extent / mesh.getSize(axis);
    placement.dims[dim].push_back({axis, extent, stride});
    extent = stride;
  }
  return placement;
}

namespace {

/// The placement of a value in pieces, and the axes over which it is split.
struct Pieces {
  Placement placement;
  SmallVector<Axis> axes;
};

/// Rewrites one send.
class SendSplitter {
public:
  SendSplitter(SendOp send, Conversion conversion) : send(send), conversion(std::move(conversion)), builder(send) {}

  /// Returns false, and changes nothing, if the value is not replicated or no dimension divides.
  bool run();

private:
  std::optional<Pieces> findPieces() const;
  Value shard(const Pieces &pieces);
  Value sendPieces(Value piece, const Pieces &pieces);
  Value gather(Value piece, const Pieces &pieces);
  bool isOncePerStep() const;
  MappingAttr toAttr(Placement placement, const Placement &supportOf) {
    placement.support = supportOf.support;
    return placement.toAttr(send.getContext(), conversion.mesh, conversion.shape);
  }
  RankedTensorType getType(const Placement &placement) {
    return cast<RankedTensorType>(send.getInput().getType()).clone(placement.getLocalShape(conversion.shape));
  }
  ArrayAttr getNames(ArrayRef<Axis> axes) {
    return builder.getStrArrayAttr(llvm::map_to_vector(axes, [&](Axis axis) { return conversion.mesh.getName(axis); }));
  }

  SendOp send;
  Conversion conversion;
  OpBuilder builder;
};

} // namespace

/// Chooses the largest set of axes over which one dimension divides; prefers the last axes, which are the fastest.
std::optional<Pieces> SendSplitter::findPieces() const {
  SmallVector<Axis> axes = findReplicated(conversion.from, conversion.mesh);
  for (; !axes.empty(); axes.erase(axes.begin()))
    for (auto [dim, size] : llvm::enumerate(conversion.shape))
      if (auto placement = splitOver(conversion.from, dim, size, axes, conversion.mesh))
        return Pieces{*placement, axes};
  return std::nullopt;
}

/// Takes the rank's own piece, axis by axis.
Value SendSplitter::shard(const Pieces &pieces) {
  Value value = send.getInput();
  Placement before = conversion.from;
  for (Axis axis : pieces.axes) {
    auto [dim, split] = *pieces.placement.findSplit(axis);
    Placement after = before;
    after.dims[dim].push_back(split);
    ArrayAttr names = getNames(axis);
    value =
        ShardOp::create(builder, send.getLoc(), getType(after), value, getCoordinate(cast<StringAttr>(names[0]), send),
                        names, toAttr(before, conversion.from), toAttr(after, conversion.from), send.getShapeAttr());
    inherit(value.getDefiningOp(), send, Inherit::Conversion);
    setOn(value.getDefiningOp(), send.getFrom().getSupport());
    before = after;
  }
  return value;
}

Value SendSplitter::sendPieces(Value piece, const Pieces &pieces) {
  auto made = SendOp::create(builder, send.getLoc(), piece.getType(), piece, send.getAxesAttr(),
                             toAttr(pieces.placement, conversion.from), toAttr(pieces.placement, conversion.to),
                             send.getShapeAttr());
  inherit(made, send, Inherit::Replacement);
  return made.getResult();
}

/// True if the value is accumulated over all micro-batches.
bool SendSplitter::isOncePerStep() const {
  std::optional<Axis> slices = conversion.mesh.find(AxisKind::Slices);
  return slices && !conversion.from.findSplit(*slices) && !conversion.from.isPartial(*slices);
}

/// Gathers the whole value on the reading stage. A value that is sent once per step is gathered once, outside the tasks
/// of micro-batches.
Value SendSplitter::gather(Value piece, const Pieces &pieces) {
  auto made = AllGatherOp::create(builder, send.getLoc(), send.getResult().getType(), piece, getNames(pieces.axes),
                                  toAttr(pieces.placement, conversion.to), send.getTo(), send.getShapeAttr());
  kReasonAttr.set(made, builder.getStringAttr("sent in " + Twine(conversion.mesh.getGroupSize(pieces.axes)) +
                                              " pieces, one from each rank that has it"));
  Operation *reader = nullptr;
  for (Operation *user : send.getResult().getUsers())
    if (!reader || user->isBeforeInBlock(reader))
      reader = user;
  inherit(made, reader ? reader : send, Inherit::Conversion);
  if (isOncePerStep())
    kStageAttr.remove(made);
  setOn(made, send.getTo().getSupport());
  return made.getResult();
}

bool SendSplitter::run() {
  std::optional<Pieces> pieces = findPieces();
  if (!pieces)
    return false;
  Value whole = gather(sendPieces(shard(*pieces), *pieces), *pieces);
  send.getResult().replaceAllUsesWith(whole);
  send.erase();
  return true;
}

/// The values of `block` that exist before the first slice of the batch: made of inputs, constants and variables of
/// earlier steps alone.
static llvm::DenseSet<Value> findEarly(Block &block, StringRef slices) {
  llvm::DenseSet<Value> early(block.getArguments().begin(), block.getArguments().end());
  SymbolTableCollection symbols;
  for (Operation &op : block) {
    auto read = dyn_cast<net::ReadOp>(op);
    auto coordinate = dyn_cast<CoordinateOp>(op);
    auto variable =
        read ? symbols.lookupNearestSymbolFrom<net::VariableOp>(read, read.getVariableAttr()) : net::VariableOp();
    bool isOfSlice = (coordinate && coordinate.getAxis() == slices) || (variable && kWithinStepAttr.isOn(variable));
    if (!isOfSlice && llvm::all_of(op.getOperands(), [&](Value operand) { return early.contains(operand); }))
      early.insert(op.result_begin(), op.result_end());
  }
  return early;
}

namespace {

struct SplitSendsPass : optimize::impl::SplitSendsPassBase<SplitSendsPass> {
  using SplitSendsPassBase::SplitSendsPassBase;

  void runOnOperation() override {
    MeshOp mesh = findMesh(getOperation());
    if (!mesh)
      return;
    for (auto func : getOperation().getOps<func::FuncOp>())
      for (Block &block : func.getBody())
        if (failed(run(block, mesh.getMesh())))
          return signalPassFailure();
  }

  LogicalResult run(Block &block, const Mesh &mesh) {
    std::optional<Axis> slices = mesh.find(AxisKind::Slices);
    llvm::DenseSet<Value> early = slices ? findEarly(block, mesh.getName(*slices)) : llvm::DenseSet<Value>();
    for (SendOp send : llvm::make_early_inc_range(block.getOps<SendOp>())) {
      bool isSmall = getBytes(cast<RankedTensorType>(send.getInput().getType())) < leastSize.getBytes();
      if (isSmall || early.contains(send.getInput()))
        continue;
      FailureOr<Conversion> conversion = resolveConversion(send);
      if (failed(conversion))
        return failure();
      numSplit += SendSplitter(send, std::move(*conversion)).run();
    }
    return success();
  }
};

} // namespace
