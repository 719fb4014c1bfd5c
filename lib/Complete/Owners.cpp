//===- Owners.cpp - which ranks compute what has an owner -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Completion decides as if everybody had what one rank owns. Two sweeps say who works instead. Forward: an operation
// whose operands have one owner is the owner's; where owners differ and the operation is linear, the values are taken
// as partial sums, which costs nothing, and the sum stays partial until somebody needs it (the squared norm of all
// gradients); any other operation reads what is owned as everybody's. In reverse: what one owner alone reads is reduced
// to him and computed by him, as far back as nobody else reads it.
//
//===----------------------------------------------------------------------===//

#include "Owners.h"
#include "dialects/Net/Net.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::complete;
using namespace meshwright::dist;

using Mappings = llvm::SmallVector<MappingAttr, 3>;

static MappingAttr withSupport(MappingAttr mapping, DictionaryAttr support) {
  return MappingAttr::get(mapping.getContext(), mapping.getDims(), mapping.getPartialKind(), mapping.getPartialAxes(),
                          support);
}

/// Whether `mapping` splits or owes an axis of `support`.
static bool uses(MappingAttr mapping, DictionaryAttr support) {
  auto names = [&](Attribute attribute) {
    auto pair = dyn_cast<ArrayAttr>(attribute);
    auto name = dyn_cast<StringAttr>(pair ? pair[0] : attribute);
    return name && support.contains(name);
  };
  return llvm::any_of(mapping.getPartialAxes(), names) || llvm::any_of(mapping.getDims(), [&](Attribute digits) {
           return llvm::any_of(cast<ArrayAttr>(digits), names);
         });
}

/// `mapping`, partial too on the axes of `support`; null where it is partial of another kind than a sum.
static MappingAttr withPartial(MappingAttr mapping, DictionaryAttr support) {
  if (!mapping.getPartialAxes().empty() && mapping.getPartialKind() != ReduceKind::Sum)
    return {};
  SmallVector<Attribute> axes(mapping.getPartialAxes().getValue());
  for (NamedAttribute entry : support)
    if (!llvm::is_contained(axes, entry.getName()))
      axes.push_back(entry.getName());
  return MappingAttr::get(mapping.getContext(), mapping.getDims(), ReduceKind::Sum,
                          ArrayAttr::get(mapping.getContext(), axes), DictionaryAttr::get(mapping.getContext(), {}));
}

namespace {

class Spreader {
public:
  explicit Spreader(const Graph &graph)
      : graph(graph), owners(graph.owners.begin(), graph.owners.end()), owed(graph.values.size()) {}

  void run();

private:
  Mappings get(OpIndex op, StringRef name) const;
  void set(OpIndex op, StringRef name, ArrayRef<MappingAttr> mappings) const;
  Mappings getComputes(OpIndex op) const;
  void setResults(OpIndex op, const Mappings &results, const Mappings &computes) const;

  void visit(OpIndex op);
  bool join(OpIndex op, ArrayRef<DictionaryAttr> involved);
  void assignTo(OpIndex op, DictionaryAttr owner);
  bool canAssign(OpIndex op, DictionaryAttr owner) const;
  void visitBack(OpIndex op);
  DictionaryAttr getOnlyReader(ValueIndex value) const;

  const Graph &graph;
  /// Who owns a value; null where everybody has it.
  SmallVector<DictionaryAttr, 0> owners;
  /// The axes on which a value is a sum of what owners have; null elsewhere.
  SmallVector<DictionaryAttr, 0> owed;
  SmallVector<DictionaryAttr, 0> worker;
};

} // namespace

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
  graph.ops[op].op->removeAttr(kComputesAttr);
  if (results != computes)
    set(op, kComputesAttr, computes);
}

/// Whether `owner` can compute `op` alone: nothing in it is split or owed on his axes.
bool Spreader::canAssign(OpIndex op, DictionaryAttr owner) const {
  auto isFree = [&](MappingAttr mapping) { return !uses(mapping, owner); };
  return llvm::all_of(get(op, kOperandsAttr), isFree) && llvm::all_of(getComputes(op), isFree) &&
         llvm::all_of(get(op, kResultsAttr), isFree);
}

void Spreader::assignTo(OpIndex op, DictionaryAttr owner) {
  worker[op] = owner;
  Mappings operands = get(op, kOperandsAttr), results = get(op, kResultsAttr), computes = getComputes(op);
  for (Mappings *list : {&operands, &results, &computes})
    for (MappingAttr &mapping : *list)
      mapping = withSupport(mapping, owner);
  set(op, kOperandsAttr, operands);
  setResults(op, results, computes);
  for (ValueIndex result : graph.ops[op].results)
    owners[result] = owner;
}

/// Lets an operation that is linear in everything owned take it as partial sums.
bool Spreader::join(OpIndex op, ArrayRef<DictionaryAttr> involved) {
  const GraphOp &entry = graph.ops[op];
  if (entry.results.size() != 1)
    return false;
  auto isOwned = [&](ValueIndex value) { return owners[value] || owed[value]; };
  const PartialRule *rule = llvm::find_if(entry.rule.partials, [&](const PartialRule &partial) {
    if (partial.kind != ReduceKind::Sum)
      return false;
    for (auto [index, operand] : llvm::enumerate(entry.operands))
      if (isOwned(operand) && !llvm::is_contained(partial.operands, static_cast<unsigned>(index)))
        return false;
    return true;
  });
  if (rule == entry.rule.partials.end())
    return false;
  DictionaryAttr axes = involved.front();
  Mappings operands = get(op, kOperandsAttr), results = get(op, kResultsAttr), computes = getComputes(op);
  for (unsigned operand : rule->operands)
    if (uses(operands[operand], axes) || !(operands[operand] = withPartial(operands[operand], axes)))
      return false;
  MappingAttr partial = uses(computes[0], axes) ? MappingAttr() : withPartial(computes[0], axes);
  if (!partial)
    return false;
  // One reader may take the sum on; more of them want it reduced once, here.
  const GraphValue &result = graph.values[entry.results.front()];
  bool passes = result.uses.size() == 1 && results[0] == computes[0];
  if (passes)
    owed[entry.results.front()] = axes;
  set(op, kOperandsAttr, operands);
  setResults(op, passes ? Mappings{partial} : results, {partial});
  return true;
}

/// Decides who computes an operation, given who has its operands.
void Spreader::visit(OpIndex op) {
  const GraphOp &entry = graph.ops[op];
  bool isSource = entry.operands.empty();
  SmallVector<DictionaryAttr> involved;
  bool isOwed = false;
  for (ValueIndex operand : entry.operands) {
    isOwed |= bool(owed[operand]);
    if (DictionaryAttr owner = owners[operand] ? owners[operand] : owed[operand])
      if (!llvm::is_contained(involved, owner))
        involved.push_back(owner);
  }
  bool isOne = involved.size() == 1 && !isOwed;
  if (entry.sink) {
    if (entry.storedOwner)
      assignTo(op, entry.storedOwner);
    return;
  }
  DictionaryAttr given = entry.results.size() == 1 ? graph.owners[entry.results.front()] : DictionaryAttr();
  if (given) {
    if (isSource || (isOne && involved.front() == given && canAssign(op, given))) {
      assignTo(op, given);
      return;
    }
    Mappings results = get(op, kResultsAttr), computes = getComputes(op);
    results[0] = withSupport(results[0], given);
    setResults(op, results, computes);
    return;
  }
  if (involved.empty() || isSource)
    return;
  if (isOne && canAssign(op, involved.front()))
    return assignTo(op, involved.front());
  join(op, involved);
}

/// The owner who alone reads `value`, if there is one.
DictionaryAttr Spreader::getOnlyReader(ValueIndex value) const {
  DictionaryAttr only;
  for (const Use &use : graph.values[value].uses) {
    DictionaryAttr reader = worker[use.op];
    if (!reader || (only && reader != only))
      return {};
    only = reader;
  }
  return only;
}

/// Reduces to the one who alone reads what `op` makes, and lets him compute it where he can.
void Spreader::visitBack(OpIndex op) {
  const GraphOp &entry = graph.ops[op];
  if (entry.results.size() != 1 || worker[op] || entry.operands.empty())
    return;
  ValueIndex value = entry.results.front();
  DictionaryAttr reader = owners[value] ? owners[value] : getOnlyReader(value);
  if (!reader || owed[value])
    return;
  Mappings results = get(op, kResultsAttr), computes = getComputes(op);
  MappingAttr whole = withSupport(results[0], DictionaryAttr::get(results[0].getContext(), {}));
  if (uses(whole, reader))
    return;
  if (canAssign(op, reader) && whole == computes[0])
    return assignTo(op, reader);
  owners[value] = reader;
  results[0] = withSupport(whole, reader);
  setResults(op, results, computes);
}

void Spreader::run() {
  if (llvm::none_of(owners, [](DictionaryAttr owner) { return bool(owner); }) &&
      llvm::none_of(graph.ops, [](const GraphOp &op) { return bool(op.storedOwner); }))
    return;
  worker.assign(graph.ops.size(), {});
  for (OpIndex op = 0; op < static_cast<OpIndex>(graph.ops.size()); ++op)
    visit(op);
  for (OpIndex op = graph.ops.size(); op-- > 0;)
    visitBack(op);
}

void complete::spreadOwners(const Graph &graph) { Spreader(graph).run(); }
