//===- ManualRegions.cpp - computations per rank become straight code -----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A graph may compute per rank in parts of it: in `sdy.manual_computation`, or in older texts between the custom calls
// @SPMDFullToShardShape and @SPMDShardToFullShape. Both become `dist.to_local` and `dist.to_global` around operations
// that stand where the computation stood, and the module gets the mesh that they name.
//
//===----------------------------------------------------------------------===//

#include "ShardingForms.h"
#include "dialects/Dist/Manual.h"
#include "meshwright/StableHLO/Graph.h"
#include "meshwright/StableHLO/Passes.h"
#include "meshwright/StableHLO/Sharding.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;
using namespace meshwright::importer;

namespace meshwright::importer {
#define GEN_PASS_DEF_MANUALREGIONSPASS
#include "meshwright/StableHLO/Passes.h.inc"
} // namespace meshwright::importer

static bool isNamed(Operation *op, StringRef name) { return op->getName().getStringRef() == name; }

/// The target of a custom call; empty for any other operation.
static StringRef getTarget(Operation *op) {
  auto target = isNamed(op, "stablehlo.custom_call") ? op->getAttrOfType<StringAttr>("call_target_name") : StringAttr();
  return target ? target.getValue() : StringRef();
}

namespace {

class Flattener {
public:
  explicit Flattener(ModuleOp module) : module(module) {}

  /// Finds the mesh: the given one, which may be empty, or that of the graph; they have to agree.
  LogicalResult findMesh(StringRef given);
  LogicalResult flatten(Operation *computation);
  LogicalResult enter(Operation *call);
  LogicalResult leave(Operation *call);

private:
  LogicalResult readGiven(StringRef text);
  LogicalResult checkMesh(Operation *declared);
  FailureOr<MappingAttr> getMapping(Operation *op, Attribute sharding, const llvm::StringSet<> &manual);
  FailureOr<MappingAttr> getMapping(Operation *op, Operation *holder, Type whole);
  MappingAttr makeMapping(ArrayRef<SmallVector<StringAttr>> dims);
  template <typename OpT, typename... Axes>
  FailureOr<Value> cross(Operation *op, Value value, MappingAttr mapping, Type result, Axes... axes);

  ModuleOp module;
  std::optional<Mesh> mesh;
};

} // namespace

//===----------------------------------------------------------------------===//
// The mesh
//===----------------------------------------------------------------------===//

/// The most ranks whose numbers are listed, as many as a run has.
static constexpr int64_t kMostRanks = 65536;

/// True if the sizes are those of axes of a mesh of so many ranks.
static bool areSizes(ArrayRef<int64_t> sizes) {
  int64_t ranks = 1;
  return llvm::all_of(
      sizes, [&](int64_t size) { return size > 0 && !llvm::MulOverflow(ranks, size, ranks) && ranks <= kMostRanks; });
}

/// Reads `dp=2,tp=4`.
LogicalResult Flattener::readGiven(StringRef text) {
  SmallVector<StringRef> parts;
  SmallVector<std::string> names;
  SmallVector<int64_t> sizes;
  text.split(parts, ',');
  for (StringRef part : parts) {
    auto [name, size] = part.split('=');
    names.push_back(name.trim().str());
    if (name.trim().empty() || size.trim().getAsInteger(10, sizes.emplace_back()))
      return module.emitError() << "mesh \"" << text
                                << "\" is not a list of axes and their sizes; an example is dp=2,tp=4";
  }
  if (!areSizes(sizes))
    return module.emitError() << "mesh \"" << text << "\" does not have 1 to " << kMostRanks << " ranks";
  mesh = Mesh(names, sizes);
  return success();
}

/// Checks a mesh of the graph against the one that is known, which it becomes if there is none. A mesh with none of its
/// axes is another way to count the same ranks.
LogicalResult Flattener::checkMesh(Operation *declared) {
  auto entries = declared->getAttrOfType<DictionaryAttr>("mesh");
  auto names = entries ? entries.getAs<ArrayAttr>(kAxesEntry) : ArrayAttr();
  auto sizes = entries ? entries.getAs<DenseI64ArrayAttr>(kSizesEntry) : DenseI64ArrayAttr();
  auto ids = entries ? entries.getAs<DenseI64ArrayAttr>(kDevicesEntry) : DenseI64ArrayAttr();
  if (!names || !sizes || sizes.empty())
    return success();
  bool areNames = llvm::all_of(names, llvm::IsaPred<StringAttr>) && names.size() == static_cast<size_t>(sizes.size());
  if (!areNames || !areSizes(sizes.asArrayRef()))
    return declared->emitError() << "the mesh does not name every axis, or does not have 1 to " << kMostRanks
                                 << " ranks";
  if (ids && !llvm::equal(ids.asArrayRef(), llvm::seq<int64_t>(0, ids.size())))
    return declared->emitError()
           << "the mesh puts ranks in an order of its own; export the graph with a mesh that counts them";
  SmallVector<std::string> texts;
  for (StringAttr name : names.getAsRange<StringAttr>())
    texts.push_back(name.str());
  Mesh own(texts, sizes.asArrayRef());
  if (!mesh)
    mesh = own;
  bool isOther = own.getNumRanks() == mesh->getNumRanks() &&
                 llvm::none_of(texts, [&](const std::string &name) { return mesh->find(name).has_value(); });
  if (*mesh != own && !isOther)
    return declared->emitError() << "the graph has the mesh " << printMesh(own) << ", which is not "
                                 << printMesh(*mesh);
  return success();
}

LogicalResult Flattener::findMesh(StringRef given) {
  if (!given.empty() && failed(readGiven(given)))
    return failure();
  for (Operation &op : llvm::make_early_inc_range(module.getOps())) {
    if (!isNamed(&op, "sdy.mesh"))
      continue;
    if (failed(checkMesh(&op)))
      return failure();
    op.erase();
  }
  if (!mesh)
    return success();
  auto builder = OpBuilder::atBlockBegin(module.getBody());
  return MeshOp::create(builder, module.getLoc(), "mesh", *mesh).verify();
}

//===----------------------------------------------------------------------===//
// Mappings
//===----------------------------------------------------------------------===//

MappingAttr Flattener::makeMapping(ArrayRef<SmallVector<StringAttr>> dims) {
  MLIRContext *context = module.getContext();
  SmallVector<DigitsAttr> digits;
  for (const SmallVector<StringAttr> &axes : dims)
    digits.push_back(
        DigitsAttr::get(context, llvm::map_to_vector(axes, [](StringAttr axis) { return DigitAttr::getAxis(axis); })));
  return MappingAttr::get(context, digits, ReduceKind::Sum, ArrayAttr::get(context, {}), DictionaryAttr::get(context));
}

/// The mapping by a sharding (ShardingForms.h), without axes that are not `manual`: over these the
/// computation sees whole values.
FailureOr<MappingAttr> Flattener::getMapping(Operation *op, Attribute sharding, const llvm::StringSet<> &manual) {
  auto parts = dyn_cast<DictionaryAttr>(sharding);
  auto list = parts ? parts.getAs<ArrayAttr>(kDimsEntry) : ArrayAttr();
  if (!list)
    return op->emitError() << "sdy.manual_computation has " << sharding << " as a sharding";
  SmallVector<SmallVector<StringAttr>> dims;
  llvm::StringSet<> seen;
  for (auto dim : list.getAsRange<DictionaryAttr>()) {
    dims.emplace_back();
    for (Attribute axis : dim.getAs<ArrayAttr>(kAxesEntry)) {
      auto name = dyn_cast<StringAttr>(axis);
      if (name && !manual.contains(name.getValue()))
        continue;
      if (!name || !mesh->find(name.getValue()) || !seen.insert(name.getValue()).second)
        return op->emitError() << "sdy.manual_computation splits a value over " << axis
                               << ", which is no axis of the mesh " << printMesh(*mesh) << " or stands twice";
      dims.back().push_back(name);
    }
  }
  return makeMapping(dims);
}

/// The mapping by the attribute `mhlo.sharding` of `holder`.
FailureOr<MappingAttr> Flattener::getMapping(Operation *op, Operation *holder, Type whole) {
  auto type = dyn_cast<RankedTensorType>(whole);
  auto text = holder ? holder->getAttrOfType<StringAttr>("mhlo.sharding") : StringAttr();
  if (!type || !text)
    return op->emitError() << "stablehlo.custom_call of @" << getTarget(op) << " has no sharding of the whole value";
  if (!mesh)
    return op->emitError() << "stablehlo.custom_call of @" << getTarget(op)
                           << " computes per rank, but the graph names no mesh; state one, as dp=2,tp=4";
  FailureOr<SmallVector<Axes>> dims =
      readHloSharding(text.getValue(), type.getRank(), *mesh, [&] { return op->emitError(); });
  if (failed(dims))
    return failure();
  SmallVector<SmallVector<StringAttr>> names;
  for (const Axes &axes : *dims)
    names.push_back(
        llvm::map_to_vector(axes, [&](Axis axis) { return StringAttr::get(op->getContext(), mesh->getName(axis)); }));
  return makeMapping(names);
}

//===----------------------------------------------------------------------===//
// The boundary
//===----------------------------------------------------------------------===//

/// Creates an operation of the boundary, with the scope and role of `op`, and checks it. An exit names the axes of the
/// computation.
template <typename OpT, typename... Axes>
FailureOr<Value> Flattener::cross(Operation *op, Value value, MappingAttr mapping, Type result, Axes... axes) {
  for (Type type : {value.getType(), result})
    if (auto tensor = dyn_cast<RankedTensorType>(type); !tensor || !tensor.hasStaticShape())
      return op->emitError() << op->getName() << " has a value of " << type
                             << " at its boundary, which has no static shape";
  // A sharding may leave out the dimensions of a scalar or of a replicated value.
  auto whole = cast<RankedTensorType>(std::is_same_v<OpT, ToLocalOp> ? value.getType() : result);
  if (mapping.isReplicated())
    mapping = MappingAttr::getReplicated(op->getContext(), whole.getRank());
  OpBuilder builder(op);
  auto made = OpT::create(builder, op->getLoc(), result, value, axes..., mapping);
  addAttributes(made, getInherited(op, Inherit::Companion));
  if (failed(made.verify()))
    return failure();
  return made.getResult();
}

LogicalResult Flattener::flatten(Operation *op) {
  auto in = op->getAttrOfType<ArrayAttr>("in_shardings"), out = op->getAttrOfType<ArrayAttr>("out_shardings");
  auto axes = op->getAttrOfType<ArrayAttr>("manual_axes");
  if (!in || !out || !axes || in.size() != op->getNumOperands() || out.size() != op->getNumResults() ||
      op->getNumRegions() != 1 || !op->getRegion(0).hasOneBlock() ||
      op->getRegion(0).getNumArguments() != op->getNumOperands())
    return op->emitError() << "sdy.manual_computation has no sharding and no argument for each of its "
                           << op->getNumOperands() << " operands and " << op->getNumResults()
                           << " results; the form that JAX prints has them";
  if (!mesh)
    return op->emitError() << "sdy.manual_computation names a mesh that the graph does not declare";
  llvm::StringSet<> manual;
  for (Attribute axis : axes)
    if (auto name = dyn_cast<StringAttr>(axis))
      manual.insert(name.getValue());
  auto ended = ArrayAttr::get(op->getContext(),
                              llvm::filter_to_vector(axes, [](Attribute axis) { return isa<StringAttr>(axis); }));
  Block &body = op->getRegion(0).front();
  Operation *end = body.empty() ? nullptr : &body.back();
  if (!end || !isNamed(end, "sdy.return") || end->getNumOperands() != op->getNumResults())
    return op->emitError() << "sdy.manual_computation does not end in sdy.return of its results";
  for (auto [argument, operand, sharding] : llvm::zip_equal(body.getArguments(), op->getOperands(), in)) {
    FailureOr<MappingAttr> mapping = getMapping(op, sharding, manual);
    FailureOr<Value> part =
        failed(mapping) ? FailureOr<Value>() : cross<ToLocalOp>(op, operand, *mapping, argument.getType());
    if (failed(part))
      return failure();
    argument.replaceAllUsesWith(*part);
  }
  SmallVector<Value> parts(end->getOperands());
  end->erase();
  op->getBlock()->getOperations().splice(op->getIterator(), body.getOperations());
  for (auto [result, part, sharding] : llvm::zip_equal(op->getResults(), parts, out)) {
    FailureOr<MappingAttr> mapping = getMapping(op, sharding, manual);
    FailureOr<Value> whole =
        failed(mapping) ? FailureOr<Value>() : cross<ToGlobalOp>(op, part, *mapping, result.getType(), ended);
    if (failed(whole))
      return failure();
    result.replaceAllUsesWith(*whole);
  }
  op->erase();
  return success();
}

LogicalResult Flattener::enter(Operation *call) {
  if (call->getNumOperands() != 1 || call->getNumResults() != 1)
    return call->emitError() << "stablehlo.custom_call of @" << getTarget(call) << " has no single operand and result";
  // The sharding of the whole value stands on the call before.
  Value value = call->getOperand(0);
  FailureOr<MappingAttr> mapping = getMapping(call, value.getDefiningOp(), value.getType());
  FailureOr<Value> part =
      failed(mapping) ? FailureOr<Value>() : cross<ToLocalOp>(call, value, *mapping, call->getResult(0).getType());
  if (failed(part))
    return failure();
  call->getResult(0).replaceAllUsesWith(*part);
  call->erase();
  return success();
}

LogicalResult Flattener::leave(Operation *call) {
  if (call->getNumOperands() != 1 || call->getNumResults() != 1)
    return call->emitError() << "stablehlo.custom_call of @" << getTarget(call) << " has no single operand and result";
  Type type = call->getResult(0).getType();
  FailureOr<MappingAttr> mapping = getMapping(call, call, type);
  if (failed(mapping))
    return failure();
  SmallVector<StringRef> names;
  for (Axis axis = 0; axis < mesh->getNumAxes(); ++axis)
    names.push_back(mesh->getName(axis));
  FailureOr<Value> whole =
      cross<ToGlobalOp>(call, call->getOperand(0), *mapping, type, Builder(call->getContext()).getStrArrayAttr(names));
  if (failed(whole))
    return failure();
  call->getResult(0).replaceAllUsesWith(*whole);
  call->erase();
  return success();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {

struct ManualRegions : importer::impl::ManualRegionsPassBase<ManualRegions> {
  using Base::Base;

  void runOnOperation() override {
    Flattener flattener(getOperation());
    if (failed(flattener.findMesh(mesh)))
      return signalPassFailure();
    SmallVector<Operation *> found;
    // Outer computations first: their bodies are in the block when inner ones are reached.
    getOperation().walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (isNamed(op, "sdy.manual_computation") || isNamed(op, "sdy.sharding_constraint") ||
          getTarget(op) == "SPMDFullToShardShape" || getTarget(op) == "SPMDShardToFullShape")
        found.push_back(op);
    });
    for (Operation *op : found)
      if (failed(replace(op, flattener)))
        return signalPassFailure();
  }

  LogicalResult replace(Operation *op, Flattener &flattener) {
    if (isNamed(op, "sdy.sharding_constraint")) {
      // States where a value is kept, and computes nothing.
      if (op->getOperandTypes() != op->getResultTypes())
        return op->emitError() << "sdy.sharding_constraint turns its operand into another type";
      op->replaceAllUsesWith(op->getOperands());
      op->erase();
      return success();
    }
    if (isNamed(op, "sdy.manual_computation")) {
      ++numFlattened;
      return flattener.flatten(op);
    }
    return getTarget(op) == "SPMDFullToShardShape" ? flattener.enter(op) : flattener.leave(op);
  }
};

} // namespace
