//===- Owners.cpp - moves operations to owners and stages -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The solvers treat a value that only one coordinate of an axis holds (an owner of whole parameters, a stage of a
// pipeline) as if all held it. Two sweeps per axis then decide which coordinate computes.
//
// Forward: an operation of a stage is computed by the stage's coordinate. Any other operation is computed by the owner
// of its operands, if they have a single one. If their owners differ and the operation is linear or monotone, the
// values are read as partial, which is free, and stay partial until a reader needs the whole (such as the squared norm
// of all gradients). Any other operation reads the values as replicated. Reverse: a value that only one coordinate
// reads is reduced to that coordinate and computed there, back to the first value with another reader.
//
// Axes are independent here: a value may have an owner on one axis and a stage on another.
//
//===----------------------------------------------------------------------===//

#include "Owners.h"
#include "dialects/Dist/Dist.h"
#include "dialects/Net/Net.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::complete;
using namespace meshwright::dist;

using Mappings = llvm::SmallVector<MappingAttr, 3>;
using Holder = std::optional<int64_t>;

namespace {

/// Reads and changes one axis of mappings.
class AxisOfMappings {
public:
  AxisOfMappings(MLIRContext *context, StringRef axis) : name(StringAttr::get(context, axis)) {}

  /// True if `mapping` is split or partial on the axis.
  bool isUsedBy(MappingAttr mapping) const;
  MappingAttr withHolder(MappingAttr mapping, Holder holder) const;
  /// `mapping` made partial on the axis; null if it is partial with another reduction.
  MappingAttr withPartial(MappingAttr mapping, ReduceKind kind) const;

private:
  StringAttr name;
};

class Spreader {
public:
  Spreader(const Graph &graph, const Mesh &mesh, Axis axis, const StageCoordinates &stages)
      : graph(graph), axis(axis), stages(stages), column(graph.ops.front().op->getContext(), mesh.getName(axis)),
        holders(graph.holders[axis]), owed(graph.values.size()), workers(graph.ops.size()) {}

  void run();

private:
  // The attributes.
  Mappings get(OpIndex op, StringRef name) const;
  void set(OpIndex op, StringRef name, ArrayRef<MappingAttr> mappings) const;
  Mappings getComputes(OpIndex op) const;
  void setResults(OpIndex op, const Mappings &results, const Mappings &computes) const;

  // Forward.
  bool hasWork() const;
  void visit(OpIndex op);
  void visitSink(OpIndex op);
  void visitReturn(OpIndex op);
  void visitGiven(OpIndex op, Holder reads);
  const PartialRule *findRule(OpIndex op) const;
  bool join(OpIndex op);
  void assignTo(OpIndex op, int64_t holder);
  void keepAccumulator(OpIndex op, int64_t holder);
  bool canAssign(OpIndex op) const;
  Holder getStored(OpIndex op) const;
  int64_t countElements(ValueIndex value) const { return ShapedType::getNumElements(graph.values[value].shape); }
  Holder getGiven(ValueIndex value) const { return graph.holders[axis][value]; }

  // In reverse.
  void visitBack(OpIndex op);
  Holder getOnlyReader(ValueIndex value) const;

  const Graph &graph;
  Axis axis;
  const StageCoordinates &stages;
  AxisOfMappings column;
  /// The owner of each value; empty if all coordinates have it.
  SmallVector<Holder, 0> holders;
  /// The reduction by which a value arises from its parts at several owners; empty for other values.
  SmallVector<std::optional<ReduceKind>, 0> owed;
  /// The coordinate that alone computes each operation, if any.
  SmallVector<Holder, 0> workers;
};

} // namespace

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

bool AxisOfMappings::isUsedBy(MappingAttr mapping) const {
  return llvm::is_contained(mapping.getPartialAxes(), name) || llvm::any_of(mapping.getDims(), [&](DigitsAttr digits) {
           return llvm::any_of(digits, [&](DigitAttr digit) { return digit.getAxis() == name; });
         });
}

MappingAttr AxisOfMappings::withHolder(MappingAttr mapping, Holder holder) const {
  NamedAttrList support(mapping.getSupport());
  support.erase(name);
  if (holder)
    support.set(name, DenseI64ArrayAttr::get(name.getContext(), *holder));
  return MappingAttr::get(name.getContext(), mapping.getDims(), mapping.getPartialKind(), mapping.getPartialAxes(),
                          support.getDictionary(name.getContext()));
}

MappingAttr AxisOfMappings::withPartial(MappingAttr mapping, ReduceKind kind) const {
  if (!mapping.getPartialAxes().empty() && mapping.getPartialKind() != kind)
    return {};
  mapping = withHolder(mapping, std::nullopt);
  SmallVector<Attribute> axes(mapping.getPartialAxes().getValue());
  axes.push_back(name);
  return MappingAttr::get(name.getContext(), mapping.getDims(), kind, ArrayAttr::get(name.getContext(), axes),
                          mapping.getSupport());
}

Mappings Spreader::get(OpIndex op, StringRef name) const {
  Mappings mappings;
  if (auto list = graph.ops[op].op->getAttrOfType<ArrayAttr>(name))
    for (Attribute mapping : list)
      mappings.push_back(cast<MappingAttr>(mapping));
  return mappings;
}

void Spreader::set(OpIndex op, StringRef name, ArrayRef<MappingAttr> mappings) const {
  SmallVector<Attribute> list(mappings.begin(), mappings.end());
  if (!list.empty())
    graph.ops[op].op->setAttr(name, ArrayAttr::get(graph.ops[op].op->getContext(), list));
}

Mappings Spreader::getComputes(OpIndex op) const {
  Mappings computes = get(op, kComputesAttr);
  return computes.empty() ? get(op, kResultsAttr) : computes;
}

void Spreader::setResults(OpIndex op, const Mappings &results, const Mappings &computes) const {
  set(op, kResultsAttr, results);
  kComputesAttr.remove(graph.ops[op].op);
  if (results != computes)
    set(op, kComputesAttr, computes);
}

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

/// The owner of the variable that `op` assigns.
Holder Spreader::getStored(OpIndex op) const {
  const auto &stored = graph.ops[op].storedHolders;
  return stored.empty() ? std::nullopt : stored[axis];
}

bool Spreader::hasWork() const {
  auto has = [](const Holder &holder) { return holder.has_value(); };
  return llvm::any_of(holders, has) || llvm::any_of(stages, has) ||
         llvm::any_of(llvm::seq<OpIndex>(0, graph.ops.size()), [&](OpIndex op) { return has(getStored(op)); });
}

/// True if one coordinate can compute `op` alone: no value of it is split or partial on the axis.
bool Spreader::canAssign(OpIndex op) const {
  auto isFree = [&](MappingAttr mapping) { return !column.isUsedBy(mapping); };
  return llvm::all_of(get(op, kOperandsAttr), isFree) && llvm::all_of(getComputes(op), isFree) &&
         llvm::all_of(get(op, kResultsAttr), isFree);
}

/// Makes `holder` compute `op`. Results with another given owner are sent there.
void Spreader::assignTo(OpIndex op, int64_t holder) {
  workers[op] = holder;
  Mappings operands = get(op, kOperandsAttr), results = get(op, kResultsAttr), computes = getComputes(op);
  for (Mappings *list : {&operands, &computes})
    for (MappingAttr &mapping : *list)
      mapping = column.withHolder(mapping, holder);
  for (auto [result, mapping] : llvm::zip(graph.ops[op].results, results)) {
    holders[result] = getGiven(result).value_or(holder);
    mapping = column.withHolder(mapping, holders[result]);
  }
  set(op, kOperandsAttr, operands);
  setResults(op, results, computes);
  if (graph.ops[op].accumulates)
    keepAccumulator(graph.values[graph.ops[op].operands[0]].def, holder);
}

/// An unplaced accumulator, read by `read`, lives on the rank that adds to it.
void Spreader::keepAccumulator(OpIndex read, int64_t holder) {
  auto op = read < 0 ? net::ReadOp() : dyn_cast<net::ReadOp>(graph.ops[read].op);
  if (op && followsAddend(SymbolTable::lookupNearestSymbolFrom<net::VariableOp>(op, op.getVariableAttr())))
    assignTo(read, holder);
}

/// The rule by which `op` passes partial operands, covering all operands with an owner and all partial ones. Null if
/// the result has more elements than each of these: then the operands are reduced first.
const PartialRule *Spreader::findRule(OpIndex op) const {
  const GraphOp &entry = graph.ops[op];
  int64_t largest = 0;
  for (ValueIndex operand : entry.operands)
    if (holders[operand] || owed[operand])
      largest = std::max(largest, countElements(operand));
  if (entry.results.size() != 1 || countElements(entry.results.front()) > largest)
    return nullptr;
  const auto *rule = llvm::find_if(entry.rule.partials, [&](const PartialRule &partial) {
    return llvm::all_of(llvm::enumerate(entry.operands), [&](auto operand) {
      ValueIndex value = operand.value();
      if (llvm::is_contained(partial.operands, static_cast<unsigned>(operand.index())))
        return !owed[value] || *owed[value] == partial.kind;
      return !holders[value] && !owed[value];
    });
  });
  return rule == entry.rule.partials.end() ? nullptr : rule;
}

/// Lets an operation that is linear or monotone in all owned operands read them as partial values.
bool Spreader::join(OpIndex op) {
  const GraphOp &entry = graph.ops[op];
  const PartialRule *rule = findRule(op);
  if (!rule)
    return false;
  Mappings operands = get(op, kOperandsAttr), results = get(op, kResultsAttr), computes = getComputes(op);
  auto owe = [&](MappingAttr mapping) {
    return column.isUsedBy(mapping) ? MappingAttr() : column.withPartial(mapping, rule->kind);
  };
  for (unsigned operand : rule->operands)
    if (!(operands[operand] = owe(operands[operand])))
      return false;
  MappingAttr partial = owe(computes[0]);
  if (!partial)
    return false;
  // A single reader may take the partial result; for several readers it is reduced once, here.
  const GraphValue &result = graph.values[entry.results.front()];
  bool passes = result.uses.size() == 1 && results[0] == computes[0];
  if (passes)
    owed[entry.results.front()] = rule->kind;
  set(op, kOperandsAttr, operands);
  setResults(op, passes ? Mappings{partial} : results, {partial});
  return true;
}

/// Returns the results of a stage from its own coordinate; the caller of the step can look up their placement.
void Spreader::visitReturn(OpIndex op) {
  Mappings operands = get(op, kOperandsAttr);
  for (auto [operand, mapping] : llvm::zip(graph.ops[op].operands, operands))
    if (!column.isUsedBy(mapping))
      mapping = column.withHolder(mapping, holders[operand]);
  set(op, kOperandsAttr, operands);
}

void Spreader::visitSink(OpIndex op) {
  const GraphOp &entry = graph.ops[op];
  Holder stored = entry.keepsPartial ? holders[entry.operands.front()] : getStored(op);
  if (stored)
    assignTo(op, *stored);
  else if (!stages.empty() && isa<func::ReturnOp>(entry.op))
    visitReturn(op);
}

/// An operation whose result has a given owner is computed there if `reads`, the owner of its operands, is the same;
/// otherwise the owner receives the result.
void Spreader::visitGiven(OpIndex op, Holder reads) {
  int64_t given = *getGiven(graph.ops[op].results.front());
  if (graph.ops[op].operands.empty() || (reads == given && canAssign(op)))
    return assignTo(op, given);
  Mappings results = get(op, kResultsAttr), computes = getComputes(op);
  results[0] = column.withHolder(results[0], given);
  setResults(op, results, computes);
}

/// Decides which coordinate computes an operation, given the owners of its operands.
void Spreader::visit(OpIndex op) {
  const GraphOp &entry = graph.ops[op];
  bool isSource = entry.operands.empty();
  if (entry.sink)
    return visitSink(op);
  if (!stages.empty() && stages[op] && !isa<net::ReadOp>(entry.op))
    return assignTo(op, *stages[op]);
  // The common owner of all operands that have one.
  Holder only;
  bool isInvolved = false, isOne = true;
  for (ValueIndex operand : entry.operands) {
    isInvolved |= holders[operand] || owed[operand];
    isOne &= !owed[operand] && (!holders[operand] || !only || only == holders[operand]);
    if (holders[operand])
      only = holders[operand];
  }
  if (!isOne)
    only = std::nullopt;
  if (entry.results.size() == 1 && getGiven(entry.results.front()))
    return visitGiven(op, only);
  if (!isInvolved || isSource)
    return;
  if (only && canAssign(op))
    assignTo(op, *only);
  else
    join(op);
}

//===----------------------------------------------------------------------===//
// In reverse
//===----------------------------------------------------------------------===//

/// The only coordinate that reads `value`, if there is one.
Holder Spreader::getOnlyReader(ValueIndex value) const {
  Holder only;
  for (const Use &use : graph.values[value].uses) {
    Holder reader = workers[use.op];
    if (!reader || (only && reader != only))
      return {};
    only = reader;
  }
  return only;
}

/// Reduces the result of `op` to the only coordinate that reads it, and computes it there if possible.
void Spreader::visitBack(OpIndex op) {
  const GraphOp &entry = graph.ops[op];
  if (entry.results.size() != 1 || workers[op] || entry.operands.empty())
    return;
  ValueIndex value = entry.results.front();
  Holder reader = holders[value] ? holders[value] : getOnlyReader(value);
  if (!reader || owed[value])
    return;
  Mappings results = get(op, kResultsAttr), computes = getComputes(op);
  MappingAttr whole = column.withHolder(results[0], std::nullopt);
  if (column.isUsedBy(whole))
    return;
  if (canAssign(op))
    return assignTo(op, *reader);
  holders[value] = reader;
  results[0] = column.withHolder(whole, reader);
  setResults(op, results, computes);
}

void Spreader::run() {
  if (!hasWork())
    return;
  for (OpIndex op = 0; op < static_cast<OpIndex>(graph.ops.size()); ++op)
    visit(op);
  for (OpIndex op = graph.ops.size(); op-- > 0;)
    visitBack(op);
}

void complete::spreadOwners(const Graph &graph, const Mesh &mesh, Axis axis, const StageCoordinates &stages) {
  Spreader(graph, mesh, axis, stages).run();
}
