//===- StrategyChecks.cpp - checks a strategy against the graph -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks that need both the strategy and the imported graph: names, inputs, globs, and fields that a given graph leaves
// without effect. Errors point at the strategy's line.
//
//===----------------------------------------------------------------------===//

#include "StrategyChecks.h"
#include "dialects/Dist/PortAttributes.h"
#include "dialects/Net/Net.h"
#include "google/protobuf/message.h"
#include "meshwright/Support/Glob.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace meshwright;
using strategy::StrategyFile;

//===----------------------------------------------------------------------===//
// Training
//===----------------------------------------------------------------------===//

/// The path of the first field of `strategy` that a whole training step decides itself; nullopt if there is none.
static std::optional<std::string> findSaidTwice(const strategy::Strategy &strategy) {
  std::vector<const google::protobuf::FieldDescriptor *> fields;
  strategy.train().GetReflection()->ListFields(strategy.train(), &fields);
  for (const auto *field : fields)
    if (!llvm::is_contained({"loss", "recompute", "gradient_accumulation"}, StringRef(field->name())))
      return "train." + std::string(field->name()) + (field->is_repeated() ? "[0]" : "");
  if (strategy.train().gradient_accumulation().steps() > 1)
    return "train.gradient_accumulation.steps";
  if (strategy.reduce().scale() != strategy::Reduce::LOSS)
    return "reduce.scale";
  if (strategy.reduce().communicate() != strategy::Reduce::GRADIENT)
    return "reduce.communicate";
  return strategy.model().frozen().empty() ? std::nullopt : std::optional<std::string>("model.frozen[0]");
}

LogicalResult meshwright::checkWholeStep(ModuleOp module, const StrategyFile &file) {
  std::optional<std::string> path = findSaidTwice(file.get());
  if (!path)
    return success();
  auto diagnostic = emitError(file.getLoc(module.getContext(), *path))
                    << *path << " is of a step that train makes of a loss, but the graph is a whole training step";
  for (auto func : module.getOps<func::FuncOp>())
    if (auto assigns = func.getOps<net::AssignOp>(); !assigns.empty()) {
      diagnostic.attachNote((*assigns.begin()).getLoc()) << "it assigns " << (*assigns.begin()).getVariable();
      break;
    }
  return diagnostic;
}

/// The first assignment to a parameter, null where there is none.
static net::AssignOp findUpdate(ModuleOp module) {
  SymbolTable symbols(module);
  for (auto func : module.getOps<func::FuncOp>())
    for (auto assign : func.getOps<net::AssignOp>())
      if (auto variable = symbols.lookup<net::VariableOp>(assign.getVariable());
          variable && variable.getKind() == net::VariableKind::Parameter)
        return assign;
  return {};
}

LogicalResult meshwright::checkUntrained(ModuleOp module, const StrategyFile &file) {
  if (file.get().zero().axes().empty())
    return success();
  Location loc = file.getLoc(module.getContext(), "zero");
  if (net::AssignOp update = findUpdate(module)) {
    auto diagnostic = emitError(loc) << "zero shards what an update works on, but neither scopes nor the flow of data "
                                        "tell the gradient of "
                                     << update.getVariable()
                                     << " in the graph, which assigns it; export the graph with debug locations";
    diagnostic.attachNote(update.getLoc()) << "assigned here";
    return diagnostic;
  }
  if (file.get().zero().stage() >= 3)
    return success();
  return emitError(loc)
         << "zero at stage " << file.get().zero().stage()
         << " shards the state of an update, but there is no train and the graph has none; stage 3 shards parameters "
            "without it";
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

/// True if Import made up the name of an argument.
static bool isMadeUp(StringRef name) {
  return name.consume_front("arg") && !name.empty() && llvm::all_of(name, llvm::isDigit);
}

void meshwright::remarkOnNames(ModuleOp module) {
  auto variables = module.getOps<net::VariableOp>();
  bool areMadeUp = llvm::all_of(variables, [](net::VariableOp variable) { return isMadeUp(variable.getSymName()); });
  for (auto func : module.getOps<func::FuncOp>())
    for (unsigned index = 0; index < func.getNumArguments(); ++index)
      if (auto name = net::kNameAttr.getOfArgument(func, index))
        areMadeUp &= isMadeUp(name.getValue());
  if (areMadeUp && !variables.empty())
    emitRemark(module.getLoc()) << "the graph has no names: its arguments are arg0, arg1 and so on, and its blocks are "
                                   "found by structure; JAX prints names with as_text(debug_info=True)";
}

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

namespace {

/// An input: a function and the number of its argument.
struct Input {
  func::FuncOp func;
  unsigned index;

  StringAttr getName() { return net::kNameAttr.getOfArgument(func, index); }
  int64_t getRank() { return cast<RankedTensorType>(func.getArgument(index).getType()).getRank(); }
};

/// Marks what a strategy says of inputs.
class InputMarker {
public:
  InputMarker(ModuleOp module, const StrategyFile &file) : module(module), file(file), builder(module.getContext()) {}

  LogicalResult markBatch(StringRef glob, int64_t dim, Location loc) {
    FailureOr<SmallVector<Input>> inputs = find(glob, loc);
    if (failed(inputs))
      return failure();
    for (Input &input : *inputs) {
      if (dim < 0 || dim >= input.getRank())
        return emitError(loc) << "the batch is dimension " << dim << " but " << input.getName() << " has rank "
                              << input.getRank();
      auto [known, isNew] = batchDims.try_emplace(input.func.getArgument(input.index), dim);
      if (!isNew && known->second != dim)
        return emitError(loc) << "the batch of " << input.getName() << " is dimension " << dim << " here but dimension "
                              << known->second << " of an earlier glob";
      ports.set(input.func.getArgument(input.index), net::kBatchDimAttr, builder.getI64IntegerAttr(dim));
    }
    return success();
  }

  LogicalResult markRange(const strategy::Range &range, Location loc) {
    if (!(range.min() < range.max()))
      return emitError(loc) << "the range is empty: min " << range.min() << " is not below max " << range.max();
    FailureOr<SmallVector<Input>> inputs = find(range.input(), loc);
    if (failed(inputs))
      return failure();
    for (Input &input : *inputs) {
      ports.set(input.func.getArgument(input.index), net::kMinAttr, builder.getF64FloatAttr(range.min()));
      ports.set(input.func.getArgument(input.index), net::kMaxAttr, builder.getF64FloatAttr(range.max()));
    }
    return success();
  }

  /// Makes the marks visible.
  void write() { ports.write(); }

private:
  /// The inputs whose name matches `glob`; where there has to be one and is none an error at `loc`.
  FailureOr<SmallVector<Input>> find(StringRef glob, Location loc) {
    SmallVector<Input> found;
    for (auto func : module.getOps<func::FuncOp>())
      for (unsigned index = 0; index < func.getNumArguments(); ++index)
        if (Input input{func, index}; input.getName() && matchGlob(glob, input.getName()))
          found.push_back(input);
    if (found.empty() && file.matchesAll())
      return emitError(loc) << "no input matches \"" << glob << "\"";
    return found;
  }

  ModuleOp module;
  const StrategyFile &file;
  Builder builder;
  dist::PortAttributes ports;
  llvm::DenseMap<Value, int64_t> batchDims;
};

} // namespace

LogicalResult meshwright::markInputs(ModuleOp module, const StrategyFile &file) {
  InputMarker marker(module, file);
  auto getLoc = [&](const Twine &path) { return file.getLoc(module.getContext(), path.str()); };
  const auto &model = file.get().model();
  for (int index = 0; index < model.batch_size(); ++index)
    for (auto [number, glob] : llvm::enumerate(model.batch(index).inputs())) {
      Location loc = getLoc("model.batch[" + Twine(index) + "].inputs[" + Twine(number) + "]");
      if (failed(marker.markBatch(glob, model.batch(index).dim(), loc)))
        return failure();
    }
  for (int index = 0; index < model.range_size(); ++index)
    if (failed(marker.markRange(model.range(index), getLoc("model.range[" + Twine(index) + "]"))))
      return failure();
  marker.write();
  return success();
}

DecayGlobs meshwright::getDecayGlobs(const google::protobuf::Message &settings, const std::string &path) {
  const auto *choice = settings.GetDescriptor()->FindOneofByName("optimizer");
  const auto *field = settings.GetReflection()->GetOneofFieldDescriptor(settings, choice);
  if (!field)
    return {};
  const google::protobuf::Message &optimizer = settings.GetReflection()->GetMessage(settings, field);
  const auto *decay = optimizer.GetDescriptor()->FindFieldByName("decay");
  DecayGlobs found{{}, path + "." + std::string(field->name()) + ".decay", 0};
  for (int index = 0; index < optimizer.GetReflection()->FieldSize(optimizer, decay); ++index)
    found.globs.push_back(optimizer.GetReflection()->GetRepeatedString(optimizer, decay, index));
  for (const char *name : {"l2", "weight_decay", "adam_weight_decay"})
    if (const auto *weight = optimizer.GetDescriptor()->FindFieldByName(name))
      found.weight = std::max(found.weight, std::abs(optimizer.GetReflection()->GetDouble(optimizer, weight)));
  return found;
}

LogicalResult meshwright::checkGlobs(ModuleOp module, const StrategyFile &file) {
  auto check = [&](StringRef glob, const Twine &path) -> LogicalResult {
    for (auto variable : module.getOps<net::VariableOp>())
      if (matchGlob(glob, variable.getSymName()))
        return success();
    return emitError(file.getLoc(module.getContext(), path.str())) << "no variable matches \"" << glob << "\"";
  };
  auto checkAll = [&](const auto &globs, const Twine &path) -> LogicalResult {
    std::string list = path.str();
    for (auto [index, glob] : llvm::enumerate(globs))
      if (failed(check(glob, list + "[" + Twine(index) + "]")))
        return failure();
    return success();
  };
  const auto &strategy = file.get();
  DecayGlobs decay = getDecayGlobs(strategy.train(), "train");
  if (failed(checkAll(strategy.model().parameters(), "model.parameters")) ||
      failed(checkAll(strategy.model().frozen(), "model.frozen")) || failed(checkAll(decay.globs, decay.path)))
    return failure();
  for (auto [index, group] : llvm::enumerate(strategy.train().group())) {
    std::string path = "train.group[" + std::to_string(index) + "]";
    DecayGlobs decay = getDecayGlobs(group, path);
    if (failed(checkAll(group.match(), path + ".match")) || failed(checkAll(decay.globs, decay.path)))
      return failure();
  }
  for (int index = 0; index < strategy.init_size(); ++index)
    if (failed(check(strategy.init(index).match(), "init[" + Twine(index) + "]")))
      return failure();
  return success();
}
