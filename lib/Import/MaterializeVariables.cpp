//===- MaterializeVariables.cpp - parameters become variables -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Graph.h"
#include "meshwright/Import/Passes.h"
#include "meshwright/Support/Glob.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::importer;

namespace meshwright::importer {
#define GEN_PASS_DEF_MATERIALIZEVARIABLESPASS
#include "meshwright/Import/Passes.h.inc"
} // namespace meshwright::importer

namespace {

/// An initializer and the variables it is for.
struct Rule {
  StringRef glob;
  net::InitializerAttr initializer;
};

struct MaterializeVariables : importer::impl::MaterializeVariablesPassBase<MaterializeVariables> {
  using Base::Base;

  void runOnOperation() override {
    func::FuncOp graph = findGraph(getOperation());
    SmallVector<Rule> rules;
    if (!graph || failed(checkReplicas()) || failed(parseRules(rules)) || failed(checkGlobs(graph, rules)))
      return signalPassFailure();
    SymbolTable symbols(getOperation());
    OpBuilder reads = OpBuilder::atBlockBegin(&graph.getBody().front());
    llvm::BitVector isVariable(graph.getNumArguments());
    for (BlockArgument argument : graph.getArguments())
      if (matches(parameters, getName(graph, argument.getArgNumber()))) {
        isVariable.set(argument.getArgNumber());
        if (failed(materialize(graph, argument, rules, symbols, reads)))
          return signalPassFailure();
      }
    leaveOutForeignAttributes(graph);
    // A variable's name is the user's, the function's is nobody's: nothing refers to it.
    if (!symbols.lookup(kStepName))
      graph.setSymName(kStepName);
    if (failed(graph.eraseArguments(isVariable)))
      signalPassFailure();
  }

  static StringRef getName(func::FuncOp graph, unsigned argument) {
    auto name = graph.getArgAttrOfType<StringAttr>(argument, net::kNameAttr);
    return name ? name.getValue() : StringRef();
  }

  static bool matches(ArrayRef<std::string> globs, StringRef name) {
    return llvm::any_of(globs, [&](const std::string &glob) { return matchGlob(glob, name); });
  }

  /// A graph of several replicas is the program of one of them, and its sums are not those of the whole.
  LogicalResult checkReplicas() {
    auto replicas = getOperation()->getAttrOfType<IntegerAttr>("mhlo.num_replicas");
    if (replicas && !replicas.getValue().isOne())
      return getOperation().emitError() << "the graph is that of one of " << replicas.getValue().getSExtValue()
                                        << " replicas; export the serial one";
    return success();
  }

  LogicalResult parseRules(SmallVectorImpl<Rule> &rules) {
    for (const std::string &text : inits) {
      auto [headB, b] = StringRef(text).rsplit(':');
      auto [headA, a] = headB.rsplit(':');
      auto [glob, kind] = headA.rsplit(':');
      std::optional<net::InitializerKind> parsed = net::symbolizeInitializerKind(kind);
      double first, second;
      if (!parsed || a.getAsDouble(first) || b.getAsDouble(second))
        return getOperation().emitError() << "initializer \"" << text
                                          << "\" is not GLOB:KIND:A:B, with constant, normal, truncated_normal or "
                                             "uniform as its kind and two numbers";
      rules.push_back({glob, net::InitializerAttr::get(&getContext(), *parsed, first, second)});
    }
    return success();
  }

  /// Checks that every glob matches something: arguments, or the variables among them.
  LogicalResult checkGlobs(func::FuncOp graph, ArrayRef<Rule> rules) {
    SmallVector<StringRef> arguments, variables;
    for (unsigned index = 0; index < graph.getNumArguments(); ++index) {
      arguments.push_back(getName(graph, index));
      if (matches(parameters, arguments.back()))
        variables.push_back(arguments.back());
    }
    for (const std::string &glob : parameters)
      if (failed(checkGlob(graph, glob, arguments, "argument")))
        return failure();
    for (const Rule &rule : rules)
      if (failed(checkGlob(graph, rule.glob, variables, "variable")))
        return failure();
    return success();
  }

  static LogicalResult checkGlob(func::FuncOp graph, StringRef glob, ArrayRef<StringRef> names, StringRef what) {
    if (llvm::any_of(names, [&](StringRef name) { return matchGlob(glob, name); }))
      return success();
    auto diagnostic = graph.emitError() << "glob \"" << glob << "\" matches none of the graph's " << names.size() << " "
                                        << what << "s";
    if (!names.empty())
      diagnostic << "; the first is " << names.front();
    return diagnostic;
  }

  LogicalResult materialize(func::FuncOp graph, BlockArgument argument, ArrayRef<Rule> rules, SymbolTable &symbols,
                            OpBuilder &reads) {
    unsigned index = argument.getArgNumber();
    StringRef name = getName(graph, index);
    if (auto result = graph.getArgAttrOfType<IntegerAttr>(index, "tf.aliasing_output"))
      return emitError(argument.getLoc())
             << "variable " << name << " is given back as result " << result.getValue().getSExtValue()
             << "; graphs that update their own state are not known, export the loss";
    if (std::optional<std::string> problem = getTypeProblem(argument.getType()))
      return emitError(argument.getLoc()) << "variable " << name << " is of " << argument.getType() << ", " << *problem;
    auto type = cast<RankedTensorType>(argument.getType());
    if (Operation *other = symbols.lookup(name)) {
      auto diagnostic = emitError(argument.getLoc()) << "variable " << name << " is called like something else";
      diagnostic.attachNote(other->getLoc()) << "the other is here";
      return diagnostic;
    }
    net::InitializerAttr initializer;
    for (const Rule &rule : llvm::reverse(rules))
      if (matchGlob(rule.glob, name))
        initializer = rule.initializer;
    OpBuilder builder(graph);
    auto variable = net::VariableOp::create(builder, argument.getLoc(), net::VariableKind::Parameter, name, type,
                                            initializer, FlatSymbolRefAttr());
    symbols.insert(variable);
    auto read = net::ReadOp::create(reads, argument.getLoc(), type, name);
    argument.replaceAllUsesWith(read.getResult());
    ++numVariables;
    return success();
  }

  /// What exporters attach for other compilers is not carried along.
  void leaveOutForeignAttributes(func::FuncOp graph) {
    bool hasSharding = false;
    auto keepName = [&](DictionaryAttr attributes) {
      hasSharding |= attributes && (attributes.contains("sdy.sharding") || attributes.contains("mhlo.sharding"));
      NamedAttrList kept;
      if (Attribute name = attributes ? attributes.get(net::kNameAttr) : Attribute())
        kept.append(net::kNameAttr, name);
      return kept.getDictionary(&getContext());
    };
    for (unsigned index = 0; index < graph.getNumArguments(); ++index)
      graph.setArgAttrs(index, keepName(graph.getArgAttrDict(index)));
    for (unsigned index = 0; index < graph.getNumResults(); ++index)
      graph.setResultAttrs(index, keepName(graph.getResultAttrDict(index)));
    if (hasSharding)
      graph.emitWarning() << "the graph's own sharding is left out; say it in the strategy";
    getOperation()->removeAttr("mhlo.num_partitions");
    getOperation()->removeAttr("mhlo.num_replicas");
  }
};

} // namespace
