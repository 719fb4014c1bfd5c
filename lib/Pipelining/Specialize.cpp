//===- Specialize.cpp - divides the program by ranks ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels are formed once, in the program of all ranks. What is left to do for each distinct program is to go over the
// operations once backwards, to find what its ranks run and need, and once forwards, to copy that.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Support.h"
#include "dialects/Net/Net.h"
#include "meshwright/Pipelining/Passes.h"
#include "meshwright/Support/Bytes.h"
#include "meshwright/Support/Classes.h"
#include "meshwright/Support/Programs.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"
#include <map>

namespace meshwright::schedule {
#define GEN_PASS_DEF_SPECIALIZEPASS
#include "meshwright/Pipelining/Passes.h.inc"
} // namespace meshwright::schedule

using namespace mlir;
using namespace meshwright;
using namespace meshwright::schedule;
using dist::Axis;

namespace {

/// The coordinates of axes by which programs differ.
class Classes {
public:
  explicit Classes(const dist::Mesh &mesh) : mesh(mesh) {}

  void add(DictionaryAttr on);
  void addRoot(ArrayAttr axes, int64_t root);
  void add(func::FuncOp func);
  bool empty() const { return named.empty(); }
  /// The ranks that these programs distinguish, and the times that `func` distinguishes.
  Classes withTimesOf(func::FuncOp func) const;
  /// All combinations that take place `during`, the first axis slowest.
  SmallVector<DictionaryAttr> enumerate(MLIRContext *context, DictionaryAttr during) const;

private:
  SmallVector<CoordinateClass> divide(Axis axis, ArrayRef<Attribute> lists) const;

  const dist::Mesh &mesh;
  /// The lists of coordinates that are named, each once.
  std::map<Axis, llvm::SetVector<Attribute>> named;
};

/// Makes the program of the ranks that `on` names.
class Specializer {
public:
  Specializer(func::FuncOp source, const dist::Mesh &mesh, DictionaryAttr on);

  /// Null where these ranks have no part in the action.
  FailureOr<func::FuncOp> run();

private:
  bool includes(DictionaryAttr support);
  bool runs(Operation *op) { return includes(dist::getOn(op)); }
  int64_t getMember(dist::CollectiveOp op);
  bool isElsewhere(dist::CollectiveOp op, unsigned part);
  bool takes(dist::CollectiveOp op, unsigned part);
  bool gives(dist::CollectiveOp op, unsigned part);
  bool isReturned(unsigned index);
  LogicalResult findLive();
  LogicalResult markOperands(Operation *op);
  void copy(Operation *op, OpBuilder &builder);
  void copy(dist::CollectiveOp op, OpBuilder &builder);
  void copy(func::ReturnOp op, OpBuilder &builder);
  void copy(dist::WaitOp op, OpBuilder &builder);
  void waitForTokens(dist::WaitOp op, OpBuilder &builder);

  func::FuncOp source;
  const dist::Mesh &mesh;
  DictionaryAttr on;
  /// One of the ranks: a coordinate for every axis, 0 where the program does not depend on it.
  SmallVector<int64_t> coordinates;
  llvm::DenseMap<Attribute, bool> included;
  llvm::DenseSet<Value> live;
  SmallVector<Operation *> kept;
  IRMapping mapping;
  /// Remaining waits for launches that give this rank nothing.
  llvm::DenseMap<Operation *, Value> tokens;
};

} // namespace

//===----------------------------------------------------------------------===//
// The programs
//===----------------------------------------------------------------------===//

void Classes::add(DictionaryAttr on) {
  if (!on)
    return;
  for (NamedAttribute entry : on)
    if (std::optional<Axis> axis = mesh.find(entry.getName()); axis && mesh.getSize(*axis) > 1)
      named[*axis].insert(entry.getValue());
}

void Classes::addRoot(ArrayAttr axes, int64_t root) {
  for (Attribute name : llvm::reverse(axes)) {
    Axis axis = *mesh.find(cast<StringAttr>(name).getValue());
    if (mesh.getSize(axis) > 1)
      named[axis].insert(DenseI64ArrayAttr::get(axes.getContext(), {root % mesh.getSize(axis)}));
    root /= mesh.getSize(axis);
  }
}

void Classes::add(func::FuncOp func) {
  add(dist::kDuringAttr.get(func));
  for (BlockArgument argument : func.getArguments())
    add(dist::getOn(argument));
  for (unsigned index = 0; index < func.getNumResults(); ++index) {
    if (auto mapping = dist::kMappingAttr.getOfResult(func, index))
      add(mapping.getSupport());
    add(dist::kDuringAttr.getOfResult(func, index));
  }
  for (Operation &op : func.getBody().front()) {
    add(dist::getOn(&op));
    if (auto either = dyn_cast<dist::EitherOp>(op))
      add(either.getHolders());
    auto collective = dyn_cast<dist::CollectiveOp>(op);
    ArrayRef<int64_t> roots = collective && collective.getRoots() ? *collective.getRoots() : ArrayRef<int64_t>();
    for (int64_t root : roots)
      addRoot(collective.getAxes(), root);
    if (collective && collective.getTo())
      addRoot(collective.getAxes(), *collective.getTo());
  }
}

Classes Classes::withTimesOf(func::FuncOp func) const {
  Classes result(mesh);
  result.add(func);
  for (Axis axis = 0; axis < mesh.getNumRankAxes(); ++axis) {
    result.named.erase(axis);
    if (auto ranks = named.find(axis); ranks != named.end())
      result.named.insert(*ranks);
  }
  return result;
}

/// Coordinates that the same lists name, in the order of the first of each; what no list names comes last.
SmallVector<CoordinateClass> Classes::divide(Axis axis, ArrayRef<Attribute> lists) const {
  SmallVector<CoordinateClass> classes = divideByLists(mesh.getSize(axis), lists);
  auto *rest = llvm::find_if(classes, [](const CoordinateClass &members) { return !members.isNamed; });
  if (rest != classes.end())
    std::rotate(rest, rest + 1, classes.end());
  return classes;
}

SmallVector<DictionaryAttr> Classes::enumerate(MLIRContext *context, DictionaryAttr during) const {
  Builder builder(context);
  SmallVector<NamedAttrList> lists(1);
  for (const auto &[axis, coordinates] : named) {
    SmallVector<CoordinateClass> classes = divide(axis, coordinates.getArrayRef());
    if (auto only = during ? during.getAs<DenseI64ArrayAttr>(mesh.getName(axis)) : DenseI64ArrayAttr())
      llvm::erase_if(
          classes, [&](const CoordinateClass &members) { return only.asArrayRef() != ArrayRef(members.coordinates); });
    SmallVector<NamedAttrList> longer;
    for (const NamedAttrList &list : lists)
      for (const CoordinateClass &members : classes) {
        longer.push_back(list);
        longer.back().set(mesh.getName(axis), builder.getDenseI64ArrayAttr(members.coordinates));
      }
    lists = std::move(longer);
  }
  return llvm::map_to_vector(lists, [&](NamedAttrList &list) { return list.getDictionary(context); });
}

//===----------------------------------------------------------------------===//
// The operations of a program
//===----------------------------------------------------------------------===//

Specializer::Specializer(func::FuncOp source, const dist::Mesh &mesh, DictionaryAttr on)
    : source(source), mesh(mesh), on(on), coordinates(mesh.getNumAxes(), 0) {
  for (NamedAttribute entry : on)
    coordinates[*mesh.find(entry.getName())] = cast<DenseI64ArrayAttr>(entry.getValue())[0];
}

bool Specializer::includes(DictionaryAttr support) {
  auto [known, isNew] = included.try_emplace(support);
  if (isNew)
    known->second = dist::covers(support, mesh, coordinates);
  return known->second;
}

/// The position of this rank in its group.
int64_t Specializer::getMember(dist::CollectiveOp op) {
  int64_t self = 0;
  for (StringRef name : op.getAxes().getAsValueRange<StringAttr>()) {
    Axis axis = *mesh.find(name);
    self = self * mesh.getSize(axis) + coordinates[axis];
  }
  return self;
}

/// True if a part has its root on another rank.
bool Specializer::isElsewhere(dist::CollectiveOp op, unsigned part) {
  return op.getRoots() && (*op.getRoots())[part] != getMember(op);
}

/// True if this rank contributes to a part.
bool Specializer::takes(dist::CollectiveOp op, unsigned part) {
  return !dist::getTraits(op.getKind()).hasSource() || !isElsewhere(op, part);
}

/// True if this rank receives anything of a part.
bool Specializer::gives(dist::CollectiveOp op, unsigned part) {
  if (op.getTo())
    return static_cast<int64_t>(*op.getTo()) == getMember(op);
  return !dist::getTraits(op.getKind()).hasTarget() || !isElsewhere(op, part);
}

bool Specializer::isReturned(unsigned index) {
  auto mapping = dist::kMappingAttr.getOfResult(source, index);
  return includes(dist::kDuringAttr.getOfResult(source, index)) && (!mapping || includes(mapping.getSupport()));
}

LogicalResult Specializer::markOperands(Operation *op) {
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    if (isa<func::ReturnOp>(op) && !isReturned(index))
      continue;
    if (auto either = dyn_cast<dist::EitherOp>(op); either && includes(either.getHolders()) != (index == 0))
      continue;
    if (auto collective = dyn_cast<dist::CollectiveOp>(op); collective && !takes(collective, index))
      continue;
    DictionaryAttr holders = dist::getOn(operand);
    // Values that only other ranks receive are not waited for.
    if (isa<dist::WaitOp>(op) && !includes(holders))
      continue;
    if (!includes(holders)) {
      auto error = op->emitOpError() << "reads on " << on << " a value that only " << holders << " has";
      error.attachNote(operand.getLoc()) << "the value is made here";
      return error;
    }
    live.insert(operand);
  }
  return success();
}

LogicalResult Specializer::findLive() {
  for (Operation &op : llvm::reverse(source.getBody().front())) {
    // The next iteration reads a carried value, even if only other ranks read it after the loop.
    bool stays = op.getNumResults() == 0 || isa<dist::CollectiveOp, dist::WaitOp, net::NextOp>(op) ||
                 llvm::any_of(op.getResults(), [&](Value result) { return live.contains(result); });
    if (!stays || !runs(&op))
      continue;
    if (failed(markOperands(&op)))
      return failure();
    kept.push_back(&op);
  }
  std::reverse(kept.begin(), kept.end());
  return success();
}

//===----------------------------------------------------------------------===//
// The program
//===----------------------------------------------------------------------===//

void Specializer::copy(dist::CollectiveOp op, OpBuilder &builder) {
  SmallVector<Value> inputs, results;
  SmallVector<int64_t> elsewhere;
  for (unsigned part = 0; part < op.getNumParts(); ++part) {
    if (isElsewhere(op, part) && !op.getTo())
      elsewhere.push_back(part);
    if (takes(op, part))
      inputs.push_back(mapping.lookup(op.getInputs()[part]));
    if (gives(op, part))
      results.push_back(op.getResult(part));
  }
  SmallVector<Type> types(ValueRange(results).getTypes());
  bool needsToken = op.isStart() && results.empty();
  if (needsToken)
    types.push_back(dist::HandleType::get(op.getContext(), RankedTensorType::get({0}, op.getElementType())));
  auto made = dist::CollectiveOp::create(
      builder, op.getLoc(), types, op.getKind(), op.getReduction(), inputs, op.getRootsAttr(),
      elsewhere.empty() ? DenseI64ArrayAttr() : builder.getDenseI64ArrayAttr(elsewhere), op.getToAttr(), op.getAxes());
  inherit(made, op, Inherit::Specialization);
  if (needsToken) {
    tokens[op] = made.getResult(0);
    return;
  }
  mapping.map(results, SmallVector<Value>(made.getResults()));
}

/// Values that only other ranks receive are not waited for here.
void Specializer::copy(dist::WaitOp op, OpBuilder &builder) {
  SmallVector<Value> handles, results;
  for (auto [handle, result] : llvm::zip(op.getHandles(), op.getResults()))
    if (Value known = mapping.lookupOrNull(handle)) {
      handles.push_back(known);
      results.push_back(result);
    }
  if (handles.empty())
    return;
  auto made = dist::WaitOp::create(builder, op.getLoc(), handles);
  inherit(made, op, Inherit::Specialization);
  mapping.map(results, SmallVector<Value>(made.getResults()));
}

void Specializer::copy(func::ReturnOp op, OpBuilder &builder) {
  SmallVector<Value> values;
  for (auto [index, operand] : llvm::enumerate(op.getOperands()))
    values.push_back(isReturned(index) ? mapping.lookup(operand)
                                       : dist::AbsentOp::create(builder, op.getLoc(), operand.getType()).getResult());
  func::ReturnOp::create(builder, op.getLoc(), values);
}

void Specializer::copy(Operation *op, OpBuilder &builder) {
  if (auto collective = dyn_cast<dist::CollectiveOp>(op))
    return copy(collective, builder);
  if (auto wait = dyn_cast<dist::WaitOp>(op))
    return copy(wait, builder);
  if (auto ret = dyn_cast<func::ReturnOp>(op))
    return copy(ret, builder);
  if (auto either = dyn_cast<dist::EitherOp>(op))
    return mapping.map(either.getResult(),
                       mapping.lookup(includes(either.getHolders()) ? either.getHeld() : either.getOther()));
  forget(builder.clone(*op, mapping), Inherit::Specialization);
}

/// A launch that gave this rank nothing is over where other ranks wait for their results, directly or after a further
/// collective.
void Specializer::waitForTokens(dist::WaitOp op, OpBuilder &builder) {
  SmallVector<Operation *> launches = {op.getHandles().front().getDefiningOp()};
  while (!launches.empty()) {
    Operation *launch = launches.pop_back_val();
    if (auto token = tokens.find(launch); token != tokens.end()) {
      dist::WaitOp::create(builder, op.getLoc(), token->second);
      tokens.erase(token);
    }
    for (Value input : launch->getOperands())
      if (isa<dist::HandleType>(input.getType()) && !llvm::is_contained(launches, input.getDefiningOp()))
        launches.push_back(input.getDefiningOp());
  }
}

/// True if `func`, an action of a pipeline, does nothing.
static bool isIdle(func::FuncOp func) {
  return dist::kActionAttr.isOn(func) && func.getNumResults() == 0 &&
         llvm::all_of(func.getBody().front(),
                      [](Operation &op) { return isa<func::ReturnOp>(op) || isAlwaysAvailable(&op); });
}

FailureOr<func::FuncOp> Specializer::run() {
  if (failed(findLive()))
    return failure();
  func::FuncOp func = cloneSignature(source, mapping);
  std::string name = source.getSymName().str();
  for (NamedAttribute entry : on)
    name += "_" + entry.getName().str() + std::to_string(cast<DenseI64ArrayAttr>(entry.getValue())[0]);
  func.setSymName(name);
  dist::setOn(func, on);
  auto builder = OpBuilder::atBlockEnd(&func.getBody().front());
  const auto *next = kept.begin();
  for (Operation &op : source.getBody().front()) {
    if (next != kept.end() && *next == &op)
      copy(*next++, builder);
    if (auto wait = dyn_cast<dist::WaitOp>(op))
      waitForTokens(wait, builder);
  }
  if (isIdle(func)) {
    func.erase();
    return func::FuncOp();
  }
  return func;
}

/// True if both ends of every part are here, as in the program of all ranks.
static bool isWhole(dist::CollectiveOp op) {
  return llvm::all_of(llvm::seq(op.getNumParts()),
                      [&](unsigned part) { return op.getPartInput(part) && op.getPartResult(part); });
}

namespace {

struct SpecializePass : schedule::impl::SpecializePassBase<SpecializePass> {
  void runOnOperation() override {
    dist::MeshOp meshOp = dist::findMesh(getOperation());
    if (!meshOp)
      return;
    // The actions of a pipeline are one step.
    SmallVector<func::FuncOp> actions;
    for (auto func : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>())) {
      if (func.isExternal() || dist::getOn(func.getOperation()))
        continue;
      if (dist::kActionAttr.isOn(func))
        actions.push_back(func);
      else if (failed(specialize(func, meshOp.getMesh())))
        return signalPassFailure();
    }
    if (failed(specialize(actions, meshOp.getMesh())))
      signalPassFailure();
  }

  LogicalResult specialize(ArrayRef<func::FuncOp> funcs, const dist::Mesh &mesh) {
    Classes classes(mesh);
    for (auto variable : getOperation().getOps<net::VariableOp>())
      if (auto kept = dist::kMappingAttr.get(variable))
        classes.add(kept.getSupport());
    for (func::FuncOp func : funcs)
      classes.add(func);
    if (funcs.empty() || classes.empty())
      return success();
    for (func::FuncOp func : funcs)
      for (auto op : func.getOps<dist::CollectiveOp>())
        if (!isWhole(op))
          return op.emitOpError() << "has an end of a part elsewhere; a program is specialized once";
    SymbolTable symbols(getOperation());
    int64_t tag = 0;
    for (func::FuncOp func : funcs) {
      // These are found again by their number in the programs of all ranks: both sides of a message, and a loop's
      // begin.
      for (Operation &op : func.getBody().front())
        if (isa<dist::CollectiveOp, net::LoopOp>(op))
          dist::kTagAttr.set(&op, Builder(&getContext()).getI64IntegerAttr(tag++));
      auto during = dist::kDuringAttr.get(func);
      for (DictionaryAttr on : classes.withTimesOf(func).enumerate(&getContext(), during)) {
        FailureOr<func::FuncOp> program = Specializer(func, mesh, on).run();
        if (failed(program))
          return failure();
        if (!*program)
          continue;
        symbols.insert(*program, func->getIterator());
        ++numPrograms;
      }
      symbols.erase(func);
    }
    return success();
  }
};

} // namespace
