//===- CarriedState.h - arguments that a step gives back --------*- C++ -*-===//
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

/// An argument whose memory a result may take over.
struct Donation {
  unsigned argument;
  /// The result that the exporter lets take it over, where it says which.
  std::optional<unsigned> result = std::nullopt;
};

/// A tree of donated arguments that several trees of results fit.
struct AmbiguousTree {
  llvm::StringRef root;
  llvm::SmallVector<unsigned> arguments;
  /// Prefixes of the names of the results that fit, two at least.
  llvm::SmallVector<std::string> prefixes;
  /// The one that computes its results from these arguments, as far as that tells.
  std::string proposal;
};

/// State that a step writes and does not read: a result without an argument.
struct WrittenState {
  /// The name that its argument would have.
  std::string name;
  unsigned result;
};

/// Which results of a whole training step are the next values of which of its arguments. A result is of one argument.
class CarriedState {
public:
  /// Begins a diagnostic at an argument, or at the graph.
  using EmitError = llvm::function_ref<mlir::InFlightDiagnostic(std::optional<unsigned> argument)>;

  CarriedState(llvm::ArrayRef<Port> arguments, llvm::ArrayRef<Port> results);

  /// Pairs what the user says. An error where nothing matches, or where the other side is missing or of another type.
  mlir::LogicalResult pairByRules(llvm::ArrayRef<CarryRule> rules, EmitError emitError);

  /// Whether the result is computed from the argument element by element, as a variable's next value mostly is.
  using IsElementwise = llvm::function_ref<bool(unsigned argument, unsigned result)>;

  /// Pairs arguments that were donated, tree by tree: all of `opt_state.…` with the results that have the same paths
  /// and types below one prefix, the shortest there is. Where several of one length fit, the one counts whose results
  /// take over the memory of the arguments. Exporters let any result do that whose type fits, so it decides
  /// neither against paths nor against `isElementwise`: not if that holds for another prefix and not for this one.
  /// A single argument takes the result that is called like it, else the one that takes over its memory if that
  /// `isElementwise`. Anything else stays without a result; the trees that several prefixes fit are returned.
  llvm::SmallVector<AmbiguousTree, 0> pairDonated(llvm::ArrayRef<Donation> donated, IsElementwise isElementwise);

  /// Why the tree of a donated argument has no results: where those that come closest differ. Empty where none come
  /// close.
  std::string describeObstacle(llvm::ArrayRef<unsigned> tree) const;

  /// Results below those of a paired tree, or of a rule with `*` or `?`, for which no argument is left: exporters leave
  /// out arguments that the step does not read. In the order of the results. Not where a tree is all of the results,
  /// and so metrics are below it too.
  llvm::SmallVector<WrittenState, 0> findWritten() const;

  /// The result that is the next value of `argument`.
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
  /// The free result of that name with the type of `argument`.
  std::optional<unsigned> findFree(llvm::StringRef name, unsigned argument) const;
  void pair(unsigned argument, unsigned result);

  llvm::ArrayRef<Port> arguments, results;
  llvm::StringMap<unsigned> resultNamed;
  /// Rules that the user or a tree gave.
  std::vector<CarryRule> applied;
  std::vector<std::optional<unsigned>> resultOf;
  std::vector<bool> isTaken;
};

} // namespace meshwright::importer

#endif
