//===- CarriedState.h - state that a step passes on -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_IMPORT_CARRIEDSTATE_H
#define MESHWRIGHT_LIB_IMPORT_CARRIEDSTATE_H

#include "meshwright/Import/Import.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringMap.h"
#include <optional>

namespace meshwright::importer {

/// An argument or a result of a graph.
struct Port {
  llvm::StringRef name;
  mlir::Type type;
};

/// A donated argument: a result may reuse its memory.
struct Donation {
  unsigned argument;
  /// The result that reuses the memory, if the exporter says which.
  std::optional<unsigned> result = std::nullopt;
};

/// A tree of donated arguments that matches several trees of results.
struct AmbiguousTree {
  llvm::StringRef root;
  llvm::SmallVector<unsigned> arguments;
  /// The matching prefixes of result names, at least two.
  llvm::SmallVector<std::string> prefixes;
  /// The prefix whose results are computed from these arguments, as far as data flow shows it.
  std::string proposal;
};

/// State that a step writes and does not read: a result without an argument.
struct WrittenState {
  /// The name of the missing argument.
  std::string name;
  unsigned result;
};

/// Maps arguments of a whole training step to the results that are their next values. A result belongs to at most one
/// argument.
class CarriedState {
public:
  /// Begins a diagnostic at an argument, or at the graph if `argument` is empty.
  using EmitError = llvm::function_ref<mlir::InFlightDiagnostic(std::optional<unsigned> argument)>;

  CarriedState(llvm::ArrayRef<Port> arguments, llvm::ArrayRef<Port> results);

  /// Pairs by the user's rules. Fails if a rule matches nothing, or if its result is missing, taken or of another type.
  mlir::LogicalResult pairByRules(llvm::ArrayRef<CarryRule> rules, EmitError emitError);

  /// Returns true if the result is computed from the argument element by element, as most next values are.
  using IsElementwise = llvm::function_ref<bool(unsigned argument, unsigned result)>;

  /// Pairs donated arguments, tree by tree: all of `opt_state.…` with the results of the same paths and types below the
  /// shortest common prefix. Among several prefixes of one length, the one whose results reuse the arguments' memory is
  /// taken. Exporters let any result of a fitting type reuse memory, so this evidence is weak: it never overrides
  /// paths, and it is ignored if `isElementwise` holds for another prefix but not for this one. A single argument is
  /// paired with the result of its name, otherwise with the result that reuses its memory if `isElementwise` holds.
  /// Other arguments stay unpaired. Returns the trees that match several prefixes.
  llvm::SmallVector<AmbiguousTree, 0> pairDonated(llvm::ArrayRef<Donation> donated, IsElementwise isElementwise);

  /// Pairs the first arguments with consecutive results of the same types that `isElementwise` holds for, as many as
  /// possible, for a graph that says nothing of its state. Returns their number.
  unsigned pairInOrder(IsElementwise isElementwise);

  /// Explains why the tree of a donated argument has no results: the difference from the closest candidate. Empty if
  /// there is no candidate.
  std::string describeObstacle(llvm::ArrayRef<unsigned> tree) const;

  /// Results without an argument that lie below the results of a paired tree, or match a rule with `*` or `?`:
  /// exporters leave out arguments that the step does not read. Ordered as the results. A tree that covers all results
  /// is not considered, because metrics lie below it too.
  llvm::SmallVector<WrittenState, 0> findWritten() const;

  /// The result that is the next value of `argument`, if it has one.
  std::optional<unsigned> getResult(unsigned argument) const { return resultOf[argument]; }

private:
  mlir::LogicalResult pairByRule(const CarryRule &rule, unsigned argument, llvm::ArrayRef<llvm::StringRef> captures,
                                 EmitError emitError);
  void pairSingle(const Donation &donation, IsElementwise isElementwise);
  void pairTree(llvm::StringRef root, llvm::StringRef prefix, llvm::ArrayRef<unsigned> tree);
  llvm::SmallVector<std::string> findPrefixes(llvm::StringRef root, llvm::ArrayRef<unsigned> tree) const;
  bool takesOver(llvm::StringRef prefix, llvm::ArrayRef<Donation> tree) const;
  bool isComputedFrom(llvm::StringRef prefix, llvm::ArrayRef<unsigned> tree, IsElementwise isElementwise) const;
  void propose(llvm::MutableArrayRef<AmbiguousTree> trees, IsElementwise isElementwise) const;
  llvm::SmallVector<llvm::StringRef> getPrefixes(llvm::StringRef path) const;
  /// The unpaired result of that name with the type of `argument`.
  std::optional<unsigned> findFree(llvm::StringRef name, unsigned argument) const;
  void pair(unsigned argument, unsigned result);

  llvm::ArrayRef<Port> arguments, results;
  llvm::StringMap<unsigned> resultNamed;
  /// Rules given by the user or derived from a tree.
  std::vector<CarryRule> applied;
  std::vector<std::optional<unsigned>> resultOf;
  std::vector<bool> isTaken;
};

} // namespace meshwright::importer

#endif
