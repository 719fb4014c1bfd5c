//===- MaterializeVariables.cpp - variables for parameters and state ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Turns arguments of the graph into variables: the parameters that the options name, and carried state, whose next
// value the graph returns (`CarriedState` finds the pairs). An argument becomes a `net.read` at the entry of the step,
// its result a `net.assign` at the exit, and both leave the signature. Every glob must match, and names and signatures
// are changed once for all arguments, so that the pass is linear in them.
//
//===----------------------------------------------------------------------===//

#include "CarriedState.h"
#include "dialects/Given/Given.h"
#include "meshwright/Import/Names.h"
#include "meshwright/Import/Passes.h"
#include "meshwright/StableHLO/Graph.h"
#include "meshwright/Support/Glob.h"
#include "meshwright/Support/Types.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::importer;

namespace meshwright::importer {
#define GEN_PASS_DEF_MATERIALIZEVARIABLESPASS
#include "meshwright/Import/Passes.h.inc"
} // namespace meshwright::importer

namespace {

/// An initializer and the glob of its variables.
struct Rule {
  StringRef glob;
  net::InitializerAttr initializer;
  /// True if the glob matches a parameter. Such a rule, `*` for instance, does not apply to the state of an optimizer.
  bool isOfParameters = false;
};

struct MaterializeVariables : importer::impl::MaterializeVariablesPassBase<MaterializeVariables> {
  using Base::Base;

  void runOnOperation() override {
    func::FuncOp graph = findGraph(getOperation());
    SmallVector<Rule> rules;
    if (!graph || failed(checkReplicas()) || failed(parseRules(rules)))
      return signalPassFailure();
    SmallVector<Port> arguments = getArguments(graph), results = getResults(graph);
    findParameters(arguments);
    CarriedState state(arguments, results);
    if (failed(pairState(graph, state)) || failed(checkGlobs(graph, arguments, state, rules)))
      return signalPassFailure();
    leaveOutForeignAttributes(graph);
    if (failed(placeResults(graph, state)) || failed(materialize(graph, state, rules)))
      signalPassFailure();
  }

  static SmallVector<Port> getArguments(func::FuncOp graph) {
    return llvm::map_to_vector(graph.getArguments(), [&](BlockArgument argument) {
      return Port{getName(graph, argument.getArgNumber()), argument.getType()};
    });
  }

  static SmallVector<Port> getResults(func::FuncOp graph) {
    SmallVector<Port> results;
    for (auto [index, type] : llvm::enumerate(graph.getResultTypes())) {
      auto name = net::kNameAttr.getOfResult(graph, index);
      results.push_back({name ? name.getValue() : StringRef(), type});
    }
    return results;
  }

  /// Matches each argument against the globs once.
  void findParameters(ArrayRef<Port> arguments) {
    parameterNames.clear();
    for (const std::string &name : variables)
      parameterNames.insert(name);
    for (const Port &argument : arguments)
      if (matches(parameters, argument.name))
        parameterNames.insert(argument.name);
  }

  bool isParameter(StringRef name) const { return parameterNames.contains(name); }

  /// Pairs carried state with results: by the options first, then by donation.
  LogicalResult pairState(func::FuncOp graph, CarriedState &state) {
    SmallVector<CarryRule> carryRules;
    for (const std::string &text : carries) {
      auto [argument, result] = StringRef(text).split('=');
      carryRules.push_back({argument.str(), result.str()});
    }
    if (failed(state.pairByRules(carryRules, [&](std::optional<unsigned> argument) {
          return argument ? emitError(graph.getArgument(*argument).getLoc()) : graph.emitError();
        })))
      return failure();
    SmallVector<Donation> donated = getDonations(graph);
    auto follows = [&](unsigned argument, unsigned result) { return isElementwise(graph, argument, result); };
    if (donated.empty() && carryRules.empty() && parameterNames.empty() && given::kMeshAttr.isOn(getOperation()))
      return takeState(graph, state.pairInOrder(follows));
    SmallVector<AmbiguousTree, 0> ambiguous = state.pairDonated(donated, follows);
    for (const AmbiguousTree &tree : ambiguous)
      reportAmbiguous(graph, tree);
    if (!ambiguous.empty())
      return failure();
    llvm::MapVector<StringRef, SmallVector<unsigned>> unpaired;
    for (const Donation &donation : donated)
      if (unsigned argument = donation.argument; !state.getResult(argument))
        unpaired[splitComponent(getName(graph, argument)).first].push_back(argument);
    for (const auto &[root, tree] : unpaired)
      if (failed(reportUnpaired(graph, tree, state.describeObstacle(tree))))
        return failure();
    return success();
  }

  /// Says which arguments of an annotated graph without donation are taken for state.
  static LogicalResult takeState(func::FuncOp graph, unsigned count) {
    if (count > 0)
      emitRemark(graph.getArgument(0).getLoc()) << "nothing is donated; " << count << " arguments, from "
                                                << getName(graph, 0) << " to " << getName(graph, count - 1)
                                                << ", are taken for variables, because results follow from them "
                                                   "element by element; donate them, or name them "
                                                   "in model.carry or model.parameters, to decide otherwise";
    return success();
  }

  static SmallVector<Donation> getDonations(func::FuncOp graph) {
    SmallVector<Donation> donated;
    for (unsigned index = 0; index < graph.getNumArguments(); ++index) {
      auto heir = graph.getArgAttrOfType<IntegerAttr>(index, "tf.aliasing_output");
      // The attribute may have any integer type; a number that does not fit is not that of a result.
      int64_t result = heir && heir.getValue().isSignedIntN(32) ? heir.getValue().getSExtValue() : -1;
      if (0 <= result && result < static_cast<int64_t>(graph.getNumResults()))
        donated.push_back({index, result});
      else if (heir || graph.getArgAttr(index, "jax.buffer_donor"))
        donated.push_back({index});
    }
    return donated;
  }

  /// True if elementwise operations lead from an argument to a result of the same shape. Follows a bounded number of
  /// values, since a network may keep a variable's shape throughout, and returns false beyond the bound.
  static bool isElementwise(func::FuncOp graph, unsigned argument, unsigned result) {
    constexpr size_t kMost = 4096;
    Value from = graph.getArgument(argument), to = graph.front().getTerminator()->getOperand(result);
    ArrayRef<int64_t> shape = cast<RankedTensorType>(from.getType()).getShape();
    llvm::SetVector<Value> reached;
    reached.insert(from);
    for (size_t next = 0; next < reached.size() && next < kMost && !reached.contains(to); ++next)
      for (Operation *user : reached[next].getUsers())
        for (Value made : user->getResults())
          if (user->hasTrait<OpTrait::Elementwise>() && cast<RankedTensorType>(made.getType()).getShape() == shape)
            reached.insert(made);
    return reached.contains(to);
  }

  /// Reports a tree that matches several trees of results, with a rule that would decide.
  static void reportAmbiguous(func::FuncOp graph, const AmbiguousTree &tree) {
    auto all = [](StringRef prefix) { return joinScopes(prefix, "*"); };
    InFlightDiagnostic diagnostic = emitError(graph.getArgument(tree.arguments.front()).getLoc());
    diagnostic << "argument " << getName(graph, tree.arguments.front());
    if (tree.arguments.size() > 1)
      diagnostic << ", with " << tree.arguments.size() - 1 << " more,";
    diagnostic << " is donated, and " << tree.prefixes.size() << " trees of results fit: ";
    llvm::interleaveComma(tree.prefixes, diagnostic, [&](StringRef prefix) { diagnostic << all(prefix); });
    diagnostic << "; choose one in the strategy, for instance model {";
    auto write = [&](StringRef argument, StringRef result) {
      diagnostic << " carry { argument: \"" << escape(argument) << "\" result: \"" << escape(result) << "\" }";
    };
    auto isOfTree = [&](unsigned argument) { return splitComponent(getName(graph, argument)).first == tree.root; };
    if (llvm::count_if(llvm::seq(graph.getNumArguments()), isOfTree) == static_cast<int64_t>(tree.arguments.size()))
      write(all(tree.root), all(tree.proposal));
    else
      for (unsigned argument : tree.arguments)
        write(getName(graph, argument), joinScopes(tree.proposal, splitComponent(getName(graph, argument)).second));
    diagnostic << " }";
  }

  /// Escapes `name` for quotes in a strategy file.
  static std::string escape(StringRef name) {
    std::string text;
    for (char c : name)
      text += c == '\\' || c == '"' ? std::string{'\\', c} : std::string{c};
    return text;
  }

  /// Reports a tree without results, once per tree: an error if it has parameters, since the step would not train them.
  LogicalResult reportUnpaired(func::FuncOp graph, ArrayRef<unsigned> tree, StringRef obstacle) {
    const unsigned *parameter =
        llvm::find_if(tree, [&](unsigned argument) { return isParameter(getName(graph, argument)); });
    unsigned argument = parameter == tree.end() ? tree.front() : *parameter;
    StringRef name = getName(graph, argument);
    Location loc = graph.getArgument(argument).getLoc();
    std::string others = tree.size() > 1 ? ", with " + std::to_string(tree.size() - 1) + " more," : "";
    InFlightDiagnostic diagnostic = parameter == tree.end() ? emitWarning(loc) : emitError(loc);
    diagnostic << (parameter == tree.end() ? "argument " : "variable ") << name << others
               << " is donated, but no result is known to be its next value"
               << (parameter == tree.end() ? ": it is an input of every step" : "") << "; name it in model.carry";
    if (!obstacle.empty())
      diagnostic.attachNote() << obstacle;
    return failure(parameter != tree.end());
  }

  /// Turns the shardings of results into constraints on what is returned, but for next values of variables, which are
  /// kept as the variables are.
  LogicalResult placeResults(func::FuncOp graph, const CarriedState &state) {
    llvm::DenseMap<unsigned, unsigned> origins;
    for (unsigned index = 0; index < graph.getNumArguments(); ++index)
      if (std::optional<unsigned> result = state.getResult(index))
        origins[*result] = index;
    Operation *results = graph.getBody().front().getTerminator();
    SmallVector<DictionaryAttr, 0> ofArguments, ofResults;
    graph.getAllArgAttrs(ofArguments);
    graph.getAllResultAttrs(ofResults);
    // A function without any attributes gives null.
    for (DictionaryAttr &attributes : llvm::concat<DictionaryAttr>(ofArguments, ofResults))
      attributes = attributes ? attributes : DictionaryAttr::get(&getContext(), {});
    auto with = [&](DictionaryAttr attributes, given::ShardingAttr sharding) {
      NamedAttrList list(attributes);
      list.erase(given::kShardingAttr);
      if (sharding)
        list.append(given::kShardingAttr, sharding);
      return list.getDictionary(&getContext());
    };
    for (unsigned index = 0; index < graph.getNumResults(); ++index) {
      auto sharding = ofResults[index].getAs<given::ShardingAttr>(given::kShardingAttr);
      if (!sharding)
        continue;
      ofResults[index] = with(ofResults[index], nullptr);
      auto origin = origins.find(index);
      if (origin == origins.end()) {
        OpBuilder builder(results);
        Value value = results->getOperand(index);
        results->setOperand(index, given::ConstrainOp::create(builder, results->getLoc(), value.getType(), value,
                                                              sharding, IntegerAttr()));
        continue;
      }
      DictionaryAttr &ofArgument = ofArguments[origin->second];
      auto own = ofArgument.getAs<given::ShardingAttr>(given::kShardingAttr);
      if (!own)
        ofArgument = with(ofArgument, sharding);
      else if (own.getDims() != sharding.getDims() || own.getUnreduced() != sharding.getUnreduced())
        return reportMoved(graph, origin->second, index, own, sharding);
    }
    graph.setAllArgAttrs(ofArguments);
    graph.setAllResultAttrs(ofResults);
    return success();
  }

  static LogicalResult reportMoved(func::FuncOp graph, unsigned argument, unsigned result, given::ShardingAttr own,
                                   given::ShardingAttr next) {
    auto diagnostic = emitError(graph.getArgument(argument).getLoc())
                      << "variable " << getName(graph, argument) << " comes as " << own
                      << ", but its next value leaves as " << next
                      << "; a variable is kept in one placement, so give both the same";
    diagnostic.attachNote(graph.getBody().front().getTerminator()->getLoc())
        << "result " << result << " is its next value";
    return diagnostic;
  }

  /// Creates the variables and removes their arguments and results from the signature.
  LogicalResult materialize(func::FuncOp graph, const CarriedState &state, ArrayRef<Rule> rules) {
    SymbolTable symbols(getOperation());
    OpBuilder reads = OpBuilder::atBlockBegin(&graph.getBody().front());
    Operation *results = graph.getBody().front().getTerminator();
    OpBuilder assigns(results);
    llvm::BitVector isVariable(graph.getNumArguments()), isAssigned(graph.getNumResults());
    for (BlockArgument argument : graph.getArguments()) {
      unsigned index = argument.getArgNumber();
      std::optional<unsigned> result = state.getResult(index);
      if (!result && !isParameter(getName(graph, index)))
        continue;
      isVariable.set(index);
      FailureOr<net::ReadOp> read = materialize(graph, argument, rules, symbols, reads);
      if (failed(read))
        return failure();
      if (!result)
        continue;
      isAssigned.set(*result);
      ++numCarried;
      // A value that is returned unchanged needs no assignment.
      if (Value next = results->getOperand(*result); next != read->getResult())
        net::AssignOp::create(assigns, argument.getLoc(), read->getVariableAttr(), next);
      // State may be assigned without being read.
      if (read->getResult().use_empty())
        read->erase();
    }
    for (const WrittenState &written : state.findWritten()) {
      Location loc = graph.getLoc();
      Value next = results->getOperand(written.result);
      if (isConstant(next))
        continue;
      FailureOr<net::VariableOp> variable = makeVariable(graph, {written.name, next.getType()}, loc, rules, symbols);
      if (failed(variable))
        return failure();
      isAssigned.set(written.result);
      ++numCarried;
      net::AssignOp::create(assigns, loc, variable->getSymNameAttr(), next);
    }
    // A variable's name takes precedence, because no operation refers to the function's name.
    if (!symbols.lookup(kStepName))
      graph.setSymName(kStepName);
    results->eraseOperands(isAssigned);
    return success(succeeded(graph.eraseResults(isAssigned)) && succeeded(graph.eraseArguments(isVariable)));
  }

  /// True if `value` is a constant, possibly reshaped or broadcast: optax returns constants in place of empty state.
  static bool isConstant(Value value) {
    while (auto *maker = value.getDefiningOp<net::ConstantOp>() ? nullptr : value.getDefiningOp()) {
      if (maker->getNumOperands() != 1)
        return false;
      value = maker->getOperand(0);
    }
    return !isa<BlockArgument>(value);
  }

  static StringRef getName(func::FuncOp graph, unsigned argument) {
    auto name = net::kNameAttr.getOfArgument(graph, argument);
    return name ? name.getValue() : StringRef();
  }

  static bool matches(ArrayRef<std::string> globs, StringRef name) {
    return llvm::any_of(globs, [&](const std::string &glob) { return matchGlob(glob, name); });
  }

  /// With several replicas the graph is the program of one of them, and its sums do not cover the whole batch.
  LogicalResult checkReplicas() {
    auto replicas = getOperation()->getAttrOfType<IntegerAttr>("mhlo.num_replicas");
    if (replicas && !replicas.getValue().isOne())
      return getOperation().emitError() << "the graph is the program of one of " << replicas.getValue().getSExtValue()
                                        << " replicas; export the serial graph";
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

  /// Checks that every glob matches: arguments for parameters, variables for initializers.
  LogicalResult checkGlobs(func::FuncOp graph, ArrayRef<Port> arguments, const CarriedState &state,
                           MutableArrayRef<Rule> rules) {
    SmallVector<StringRef> names, variables;
    for (auto [index, argument] : llvm::enumerate(arguments)) {
      names.push_back(argument.name);
      if (state.getResult(index) || isParameter(argument.name))
        variables.push_back(argument.name);
    }
    SmallVector<WrittenState, 0> written = state.findWritten();
    for (const WrittenState &state : written)
      variables.push_back(state.name);
    for (const std::string &glob : parameters)
      if (failed(checkGlob(graph, glob, names, "argument")))
        return failure();
    for (Rule &rule : rules) {
      if (failed(checkGlob(graph, rule.glob, variables, "variable")))
        return failure();
      rule.isOfParameters =
          llvm::any_of(variables, [&](StringRef name) { return isParameter(name) && matchGlob(rule.glob, name); });
    }
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

  FailureOr<net::ReadOp> materialize(func::FuncOp graph, BlockArgument argument, ArrayRef<Rule> rules,
                                     SymbolTable &symbols, OpBuilder &reads) {
    Port port{getName(graph, argument.getArgNumber()), argument.getType()};
    FailureOr<net::VariableOp> variable = makeVariable(graph, port, argument.getLoc(), rules, symbols);
    if (failed(variable))
      return failure();
    if (auto sharding = given::kShardingAttr.getOfArgument(graph, argument.getArgNumber()))
      given::kShardingAttr.set(*variable, sharding);
    auto read = net::ReadOp::create(reads, argument.getLoc(), variable->getTensorType(), port.name);
    argument.replaceAllUsesWith(read.getResult());
    return read;
  }

  FailureOr<net::VariableOp> makeVariable(func::FuncOp graph, Port port, Location loc, ArrayRef<Rule> rules,
                                          SymbolTable &symbols) {
    auto [name, portType] = port;
    if (std::optional<std::string> problem = getTypeProblem(portType))
      return emitError(loc) << "variable " << name << " is of " << describeType(portType) << ", " << *problem;
    auto type = cast<RankedTensorType>(portType);
    if (Operation *other = symbols.lookup(name)) {
      auto diagnostic = emitError(loc) << "variable " << name << " has the name of another symbol";
      diagnostic.attachNote(other->getLoc()) << "the other is here";
      return diagnostic;
    }
    net::InitializerAttr initializer;
    // In reverse, so that the first matching rule has the last word.
    for (const Rule &rule : llvm::reverse(rules))
      if ((isParameter(name) || !rule.isOfParameters) && matchGlob(rule.glob, name))
        initializer = rule.initializer;
    OpBuilder builder(graph);
    auto kind = isParameter(name) ? net::VariableKind::Parameter : net::VariableKind::Buffer;
    auto variable = net::VariableOp::create(builder, loc, kind, name, type, initializer, FlatSymbolRefAttr());
    symbols.insert(variable);
    ++numVariables;
    return variable;
  }

  /// Drops attributes that exporters attach for other compilers.
  void leaveOutForeignAttributes(func::FuncOp graph) {
    auto keepOwn = [&](DictionaryAttr attributes) {
      NamedAttrList kept;
      for (StringRef name : {StringRef(net::kNameAttr), StringRef(given::kShardingAttr)})
        if (Attribute value = attributes ? attributes.get(name) : Attribute())
          kept.append(name, value);
      return kept.getDictionary(&getContext());
    };
    // All at once: each change of a function's attributes takes time in the number of its arguments.
    SmallVector<DictionaryAttr, 0> arguments, results;
    for (unsigned index = 0; index < graph.getNumArguments(); ++index)
      arguments.push_back(keepOwn(graph.getArgAttrDict(index)));
    for (unsigned index = 0; index < graph.getNumResults(); ++index)
      results.push_back(keepOwn(graph.getResultAttrDict(index)));
    graph.setAllArgAttrs(arguments);
    graph.setAllResultAttrs(results);
    for (NamedAttribute attribute : llvm::to_vector(getOperation()->getDiscardableAttrs()))
      if (attribute.getName().getValue().starts_with("mhlo."))
        getOperation()->removeDiscardableAttr(attribute.getName());
  }

  /// Names of the arguments that the options turn into variables.
  llvm::StringSet<> parameterNames;
};

} // namespace
