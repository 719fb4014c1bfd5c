//===- Exchanges.cpp - collectives between stages as actions --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A module of an action runs on the ranks of one coordinate of the pipeline. The update exchanges values with other
// stages, such as the gradients of tied weights and the norm of all gradients, so it is divided at these collectives.
// Every operation has a level, the number of exchanges on the longest way to it, which is the same on all ranks:
//
//   level 0 | exchanges of level 0 | level 1 | exchanges of level 1 | …
//
// Thus no rank waits in an exchange for an operation that stands after it on another rank.
//
//===----------------------------------------------------------------------===//

#include "Exchanges.h"
#include "Actions.h"
#include "dialects/Common/Traits.h"
#include "dialects/Dist/Support.h"
#include "dialects/Net/Net.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::exporter;

bool exporter::isExchange(Operation *op, StringRef axis) {
  auto collective = dyn_cast<dist::CollectiveOp>(op);
  return collective && llvm::is_contained(collective.getAxes().getAsValueRange<StringAttr>(), axis);
}

namespace {

class Splitter {
public:
  Splitter(func::FuncOp source, StringRef axis)
      : source(source), block(source.getBody().front()), axis(axis), symbols(source->getParentOfType<ModuleOp>()),
        builder(source.getContext()) {}

  SmallVector<func::FuncOp> run();

private:
  /// A function and where in it the values of the source are.
  struct Part {
    func::FuncOp func;
    IRMapping mapping;
    bool isExchange;
  };

  unsigned getLevel(Value value) const;
  unsigned findLevels();
  void addPart(const Twine &suffix, bool isExchange, bool isLast);
  Part &getPart(Operation *op) { return parts[partOf.lookup(op)]; }
  Value clone(Operation *op, Part &part);
  Value get(Value value, Part &part);

  func::FuncOp source;
  Block &block;
  StringRef axis;
  SymbolTable symbols;
  OpBuilder builder;
  llvm::DenseMap<Operation *, unsigned> levels, partOf;
  SmallVector<Part, 0> parts;
  /// The variables of values that pass from one part to another.
  llvm::MapVector<Value, net::VariableOp> kept;
};

} // namespace

/// The level of operations that read `value` and nothing else.
unsigned Splitter::getLevel(Value value) const {
  Operation *maker = value.getDefiningOp();
  return maker ? levels.lookup(maker) + isExchange(maker, axis) : 0;
}

/// Finds the level of every operation; returns the last one.
unsigned Splitter::findLevels() {
  llvm::DenseMap<StringAttr, unsigned> lastReads;
  unsigned last = 0;
  for (Operation &op : block) {
    unsigned level = 0;
    for (Value operand : op.getOperands())
      level = std::max(level, getLevel(operand));
    for (Value operand : op.getOperands())
      if (auto read = operand.getDefiningOp<net::ReadOp>()) {
        unsigned &lastRead = lastReads[read.getVariableAttr().getAttr()];
        lastRead = std::max(lastRead, level);
      }
    levels[&op] = level;
    last = std::max(last, level + isExchange(&op, axis));
  }
  // A variable keeps its value until its last reader.
  for (auto assign : block.getOps<net::AssignOp>()) {
    unsigned &level = levels[assign];
    level = std::max(level, lastReads.lookup(assign.getVariableAttr().getAttr()));
  }
  levels[block.getTerminator()] = last;
  return last;
}

/// Like actions, all parts take the arguments of the step; the last one gives its results.
void Splitter::addPart(const Twine &suffix, bool isExchange, bool isLast) {
  Part &part = parts.emplace_back();
  part.isExchange = isExchange;
  part.func = createPart(source, suffix, symbols, part.mapping);
  if (isLast)
    return;
  part.func.setResAttrsAttr(nullptr);
  part.func.setFunctionType(builder.getFunctionType(source.getArgumentTypes(), {}));
}

/// Clones `op`, whose operands are mapped, to the end of `part`, or before its return.
Value Splitter::clone(Operation *op, Part &part) {
  Block &entry = part.func.getBody().front();
  builder.setInsertionPointToEnd(&entry);
  if (entry.mightHaveTerminator())
    builder.setInsertionPoint(entry.getTerminator());
  Operation *made = builder.clone(*op, part.mapping);
  return made->getNumResults() == 1 ? made->getResult(0) : Value();
}

/// `value` in the function of `part`.
Value Splitter::get(Value value, Part &part) {
  if (Value known = part.mapping.lookupOrNull(value))
    return known;
  Operation *maker = value.getDefiningOp();
  if (isAlwaysAvailable(maker) && !part.isExchange)
    return clone(maker, part);
  net::VariableOp &variable = kept[value];
  if (!variable) {
    OpBuilder outside(builder.getContext());
    variable =
        net::VariableOp::create(outside, value.getLoc(), net::VariableKind::Accumulator, "within/exchange",
                                cast<RankedTensorType>(value.getType()), net::InitializerAttr(), FlatSymbolRefAttr());
    dist::kWithinStepAttr.set(variable, builder.getUnitAttr());
    symbols.insert(variable, source->getParentOfType<ModuleOp>().getBody()->begin());
  }
  builder.setInsertionPointToEnd(&part.func.getBody().front());
  auto read = net::ReadOp::create(builder, value.getLoc(), value.getType(), FlatSymbolRefAttr::get(variable));
  dist::setOn(read, dist::getOn(value));
  part.mapping.map(value, read.getResult());
  return read.getResult();
}

SmallVector<func::FuncOp> Splitter::run() {
  unsigned last = findLevels(), exchanges = 0;
  SmallVector<unsigned> partOfLevel;
  for (unsigned level = 0; level <= last; ++level) {
    partOfLevel.push_back(parts.size());
    addPart(level == 0 ? Twine() : "." + Twine(level), /*isExchange=*/false, level == last);
    for (Operation &op : block)
      if (levels.lookup(&op) == level && isExchange(&op, axis)) {
        partOf[&op] = parts.size();
        addPart(".exchange" + Twine(exchanges++), /*isExchange=*/true, /*isLast=*/false);
      }
  }
  for (Operation &op : block) {
    if (isAlwaysAvailable(&op))
      continue;
    Part &part = parts[partOf.try_emplace(&op, partOfLevel[levels.lookup(&op)]).first->second];
    for (Value operand : op.getOperands())
      part.mapping.map(operand, get(operand, part));
    clone(&op, part);
  }
  for (auto [value, variable] : kept) {
    Operation *maker = value.getDefiningOp();
    Part &part = isAlwaysAvailable(maker) ? parts.front() : getPart(maker);
    if (!part.mapping.contains(value))
      clone(maker, part);
    builder.setInsertionPointToEnd(&part.func.getBody().front());
    if (part.func.getBody().front().mightHaveTerminator())
      builder.setInsertionPoint(part.func.getBody().front().getTerminator());
    auto assign =
        net::AssignOp::create(builder, value.getLoc(), FlatSymbolRefAttr::get(variable), part.mapping.lookup(value));
    dist::setOn(assign, dist::getOn(value));
  }
  SmallVector<func::FuncOp> made;
  for (Part &part : parts) {
    if (&part != &parts.back()) {
      builder.setInsertionPointToEnd(&part.func.getBody().front());
      func::ReturnOp::create(builder, source.getLoc());
    }
    made.push_back(part.func);
  }
  symbols.erase(source);
  return made;
}

SmallVector<func::FuncOp> exporter::splitAtExchanges(func::FuncOp func, StringRef axis) {
  return Splitter(func, axis).run();
}
