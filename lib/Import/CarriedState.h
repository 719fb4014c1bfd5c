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

/// Which results of a whole training step are the next values of which of its arguments. A result is of one argument.
class CarriedState {
public:
  /// Begins a diagnostic at an argument, or at the graph.
  using EmitError = llvm::function_ref<mlir::InFlightDiagnostic(std::optional<unsigned> argument)>;

  CarriedState(llvm::ArrayRef<Port> arguments, llvm::ArrayRef<Port> results);

  /// Pairs what the user says. An error where nothing matches, or where the other side is missing or of another type.
  mlir::LogicalResult pairByRules(llvm::ArrayRef<CarryRule> rules, EmitError emitError);

  /// Pairs arguments that were donated, tree by tree: all of `opt_state.…` with the results that have the same paths
  /// and types below one prefix, the shortest there is. Which argument shares memory with which result does not count:
  /// exporters pair whatever has the same type. Trees without such a prefix, or with several of one length, and single
  /// arguments that no result is called like, stay without a result.
  void pairDonated(llvm::ArrayRef<unsigned> donated);

  /// Why the tree of a donated argument has no results: where those that come closest differ. Empty where none come
  /// close.
  std::string describeObstacle(llvm::ArrayRef<unsigned> tree) const;

  /// The result that is the next value of `argument`.
  std::optional<unsigned> getResult(unsigned argument) const { return resultOf[argument]; }

private:
  mlir::LogicalResult pairByRule(const CarryRule &rule, unsigned argument, llvm::ArrayRef<llvm::StringRef> captures,
                                 EmitError emitError);
  void pairTree(llvm::StringRef root, llvm::ArrayRef<unsigned> tree);
  std::optional<std::string> findPrefix(llvm::StringRef root, llvm::ArrayRef<unsigned> tree) const;
  llvm::SmallVector<llvm::StringRef> getPrefixes(llvm::StringRef path) const;
  /// The free result of that name with the type of `argument`.
  std::optional<unsigned> findFree(llvm::StringRef name, unsigned argument) const;
  void pair(unsigned argument, unsigned result);

  llvm::ArrayRef<Port> arguments, results;
  llvm::StringMap<unsigned> resultNamed;
  std::vector<std::optional<unsigned>> resultOf;
  std::vector<bool> isTaken;
};

} // namespace meshwright::importer

#endif
