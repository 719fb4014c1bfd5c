//===- Evaluation.cpp - derives the evaluation program --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Evaluation starts from a graph of its own or from a copy of the training network, of which only the wanted results
// remain. Its variables are replaced by those of training with equal names.
//
//===----------------------------------------------------------------------===//

#include "Evaluation.h"
#include "dialects/Dist/Placement.h"
#include "dialects/Net/Net.h"
#include "meshwright/Schedule/Passes.h"
#include "meshwright/Support/Glob.h"
#include "meshwright/Train/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace meshwright;
using strategy::StrategyFile;

//===----------------------------------------------------------------------===//
// The network
//===----------------------------------------------------------------------===//

static StringRef getResultName(func::FuncOp func, unsigned index) {
  auto name = net::kNameAttr.getOfResult(func, index);
  return name ? name.getValue() : StringRef();
}

/// The results that are not returned: all but those that match, or else those that forward makes.
static FailureOr<llvm::BitVector> findUnwanted(func::FuncOp func, const StrategyFile &file) {
  const auto &globs = file.get().eval().outputs();
  Operation *results = func.getBody().front().getTerminator();
  llvm::BitVector unwanted(func.getNumResults(), !globs.empty());
  std::vector<std::string> texts(globs.begin(), globs.end());
  GlobList outputs(texts);
  for (unsigned index = 0; index < func.getNumResults(); ++index)
    if (outputs.match(getResultName(func, index)))
      unwanted.reset(index);
  auto locate = [&](unsigned number) {
    return file.getLoc(func.getContext(), "eval.outputs[" + std::to_string(number) + "]");
  };
  if (std::optional<unsigned> number = outputs.findUnmatched()) {
    auto error = emitError(locate(*number));
    error << "glob \"" << outputs.get(*number) << "\" matches none of the " << func.getNumResults()
          << " results of the graph that is evaluated";
    if (func.getNumResults() > 0)
      error << "; the first is " << getResultName(func, 0);
    return error;
  }
  for (unsigned number : outputs.findWithoutEffect())
    emitWarning(locate(number)) << "eval.outputs[" << number
                                << "] has no effect: earlier globs match all that it matches";
  if (globs.empty())
    for (auto [index, value] : llvm::enumerate(results->getOperands()))
      if (Operation *maker = value.getDefiningOp();
          maker && net::getRole(maker).value_or(net::Role::Forward) != net::Role::Forward)
        unwanted.set(index);
  if (unwanted.all())
    return func.emitError() << "evaluation has nothing to return: backward or an update makes all of the "
                            << func.getNumResults() << " results";
  return unwanted;
}

/// Checks that what is called like a parameter is a variable: an input would be asked for in every batch.
static LogicalResult checkInputs(func::FuncOp func, const StrategyFile &file) {
  for (BlockArgument argument : func.getArguments()) {
    auto name = net::kNameAttr.getOfArgument(func, argument.getArgNumber());
    for (const std::string &glob : file.get().model().parameters())
      if (name && matchGlob(glob, name.getValue()))
        return emitError(argument.getLoc()) << "argument " << name.getValue() << " of the graph that is evaluated is a "
                                            << "parameter, but no variable of the graph that is trained";
  }
  return success();
}

LogicalResult meshwright::cutEvaluation(ModuleOp evaluation, const StrategyFile &file) {
  for (auto func : evaluation.getOps<func::FuncOp>()) {
    if (failed(checkInputs(func, file)))
      return failure();
    FailureOr<llvm::BitVector> unwanted = findUnwanted(func, file);
    if (failed(unwanted))
      return failure();
    for (auto assign : llvm::make_early_inc_range(func.getOps<net::AssignOp>()))
      assign.erase();
    func.getBody().front().getTerminator()->eraseOperands(*unwanted);
    if (failed(func.eraseResults(*unwanted)))
      return failure();
    if (failed(train::simplify(func)))
      return failure();
    // An input that training alone reads, as the key of a dropout, is none.
    llvm::BitVector unused(func.getNumArguments());
    for (BlockArgument argument : func.getArguments())
      if (argument.use_empty())
        unused.set(argument.getArgNumber());
    if (failed(func.eraseArguments(unused)))
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Its variables
//===----------------------------------------------------------------------===//

/// Checks that `training` has a variable of that name and type.
static LogicalResult checkVariable(net::VariableOp variable, SymbolTable &training) {
  auto trained = training.lookup<net::VariableOp>(variable.getSymName());
  if (!trained)
    return emitError(variable.getLoc()) << "evaluation reads " << variable.getSymName()
                                        << ", which is no variable of the graph that is trained";
  if (trained.getType() == variable.getType())
    return success();
  auto error = emitError(variable.getLoc()) << "evaluation reads " << variable.getSymName() << " as "
                                            << variable.getType() << ", but training has it as " << trained.getType();
  error.attachNote(trained.getLoc()) << "the variable is here";
  return error;
}

LogicalResult meshwright::shareVariables(ModuleOp evaluation, ModuleOp training) {
  SymbolTable trained(training);
  llvm::DenseSet<Attribute> read;
  for (auto func : evaluation.getOps<func::FuncOp>())
    for (auto op : func.getOps<net::ReadOp>())
      read.insert(op.getVariableAttr().getAttr());
  for (auto variable : llvm::make_early_inc_range(evaluation.getOps<net::VariableOp>())) {
    if (read.contains(variable.getSymNameAttr()) && failed(checkVariable(variable, trained)))
      return failure();
    variable.erase();
  }
  OpBuilder builder = OpBuilder::atBlockBegin(evaluation.getBody());
  for (auto variable : training.getOps<net::VariableOp>()) {
    if (!read.contains(variable.getSymNameAttr()))
      continue;
    dist::kSharedAttr.set(variable, builder.getUnitAttr());
    auto shared = cast<net::VariableOp>(builder.clone(*variable));
    // The variable whose placement it copies may not be read by evaluation.
    if (shared.getLike() && !read.contains(StringAttr::get(shared.getContext(), *shared.getLike())))
      shared.removeLikeAttr();
  }
  return success();
}

/// The placement in which evaluation computes with `variable` unless it states another: replicated.
static dist::MappingAttr getReplicated(net::VariableOp variable, const dist::Mesh &mesh) {
  ArrayRef<int64_t> shape = variable.getTensorType().getShape();
  return dist::Placement::replicated(shape.size()).toAttr(variable.getContext(), mesh, shape);
}

/// Checks that the stage that evaluation reads a variable in is the one that training keeps it in.
static LogicalResult checkStage(net::VariableOp variable, dist::MappingAttr computed, dist::MappingAttr kept,
                                const StrategyFile &file) {
  StringRef axis = file.getStageAxis();
  if (axis.empty() || !computed || !kept || computed.getSupport().get(axis) == kept.getSupport().get(axis))
    return success();
  return emitError(file.getLoc(variable.getContext(), "pipeline.stages"))
         << "evaluation and training have " << variable.getSymName() << " in different stages, on "
         << computed.getSupport().get(axis) << " and " << kept.getSupport().get(axis) << " of axis \"" << axis
         << "\"; ends_with or match cut both alike";
}

LogicalResult meshwright::keepAsTrained(ModuleOp evaluation, ModuleOp training, const StrategyFile &file) {
  SymbolTable trained(training);
  llvm::DenseMap<Attribute, SmallVector<net::ReadOp, 1>> reads;
  for (auto func : evaluation.getOps<func::FuncOp>())
    for (auto read : func.getOps<net::ReadOp>())
      reads[read.getVariableAttr().getAttr()].push_back(read);
  for (auto variable : evaluation.getOps<net::VariableOp>()) {
    auto source = trained.lookup<net::VariableOp>(variable.getSymName());
    auto computed = dist::kMappingAttr.get(variable);
    auto kept = dist::kMappingAttr.get(source);
    if (failed(checkStage(variable, computed, kept, file)))
      return failure();
    dist::kMemoryAttr.copy(source, variable);
    if (computed == kept)
      continue;
    if (!computed)
      computed = getReplicated(variable, file.getMesh());
    for (net::ReadOp read : reads[variable.getSymNameAttr()])
      if (!dist::kResultsAttr.isOn(read))
        dist::kResultsAttr.set(read, ArrayAttr::get(variable.getContext(), computed));
    dist::kMappingAttr.set(variable, kept ? kept : getReplicated(variable, file.getMesh()));
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Its memory
//===----------------------------------------------------------------------===//

void meshwright::reserveMemory(ModuleOp evaluation, ModuleOp training) {
  int64_t bytes = 0, hostBytes = 0;
  for (auto func : training.getOps<func::FuncOp>()) {
    if (auto persistent = dist::kPersistentBytesAttr.get(func))
      bytes = std::max(bytes, persistent.getInt());
    if (auto host = dist::kHostArenaBytesAttr.get(func))
      hostBytes = std::max(hostBytes, host.getInt());
  }
  dist::kReservedBytesAttr.set(evaluation, DenseI64ArrayAttr::get(evaluation.getContext(), {bytes, hostBytes}));
}
