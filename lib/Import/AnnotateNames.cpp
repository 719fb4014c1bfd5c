//===- AnnotateNames.cpp - names, scopes and roles from locations ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exporters keep the user's names in locations, which rewrites lose sooner or later. This pass runs first and turns
// them into attributes.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Import/Names.h"
#include "meshwright/Import/Passes.h"
#include "meshwright/StableHLO/Graph.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::importer;

namespace meshwright::importer {
#define GEN_PASS_DEF_ANNOTATENAMESPASS
#include "meshwright/Import/Passes.h.inc"
} // namespace meshwright::importer

/// The name that XLA gives to every argument of a TensorFlow function.
static constexpr StringLiteral kNamelessArgument = "XLA_Args";

/// The name in a location itself or in the locations fused with it. Skips names that are not UTF-8, because names are
/// written to JSON files.
static StringRef getNameIn(LocationAttr location) {
  if (auto name = dyn_cast<NameLoc>(location))
    return llvm::json::isUTF8(name.getName()) ? name.getName().getValue() : StringRef();
  if (auto fused = dyn_cast<FusedLoc>(location))
    for (Location part : fused.getLocations())
      if (StringRef name = getNameIn(part); !name.empty())
        return name;
  return {};
}

namespace {

/// Computes scopes and roles of locations, once per name: exporters share locations between operations.
class Scopes {
public:
  struct Place {
    std::string scope;
    bool isBackward = false;
    bool isWhole = false;
    /// True if an operation of the graph itself has this location, not only operations of functions that it calls.
    bool isInGraph = false;
    /// Scope and role as attributes of an operation.
    DictionaryAttr attributes;
  };

  Place &get(LocationAttr location) {
    location = getWritten(location);
    // Operations with the same name but different stack frames share an entry.
    auto name = dyn_cast<NameLoc>(location);
    auto [found, isNew] = places.try_emplace(name ? Attribute(name.getName()) : Attribute(location));
    if (isNew) {
      found->second = compute(location);
      found->second.attributes = getAttributes(found->second, location.getContext());
    }
    return found->second;
  }

  /// The one component that precedes the first key of a parameter in scopes of the graph and is the root of no
  /// argument; empty if there is none, or more than one.
  StringRef findRoot(const llvm::StringSet<> &roots, const llvm::StringSet<> &keys) const {
    StringRef found;
    // The order of iteration does not affect the answer.
    for (const auto &[key, place] : places) {
      auto [root, below] = splitComponent(place.scope);
      if (!place.isInGraph || root.empty() || root == found || roots.contains(root) || keys.contains(root) ||
          !keys.contains(splitComponent(below).first))
        continue;
      if (!found.empty())
        return {};
      found = root;
    }
    return found;
  }

private:
  /// The location that the exporter wrote, without the line in the text, which is unique for every operation.
  static LocationAttr getWritten(LocationAttr location) {
    auto fused = dyn_cast<FusedLoc>(location);
    bool isLocated = fused && fused.getLocations().size() == 2 && isa<FileLineColLoc>(fused.getLocations().front());
    return isLocated ? LocationAttr(fused.getLocations().back()) : location;
  }

  static DictionaryAttr getAttributes(const Place &place, MLIRContext *context) {
    NamedAttrList attributes;
    attributes.set(net::kRoleAttr,
                   net::RoleAttr::get(context, place.isBackward ? net::Role::Backward : net::Role::Forward));
    if (!place.scope.empty())
      attributes.set(net::kScopeAttr, StringAttr::get(context, place.scope));
    return attributes.getDictionary(context);
  }

  /// Iterates over call sites, because their depth is the depth of the exporter's stack.
  static Place compute(LocationAttr location) {
    Place place;
    while (auto site = dyn_cast<CallSiteLoc>(location)) {
      Place callee = compute(site.getCallee());
      place.scope = joinScopes(callee.scope, place.scope);
      place.isBackward |= callee.isBackward;
      location = site.getCaller();
    }
    if (auto fused = dyn_cast<FusedLoc>(location); fused && !fused.getLocations().empty() && getNameIn(fused).empty())
      return compute(fused.getLocations().back());
    StringRef name = getNameIn(location);
    place.scope = joinScopes(getScope(name), place.scope);
    place.isBackward |= isTransposed(name);
    place.isWhole = isWhole(name);
    return place;
  }

  llvm::DenseMap<Attribute, Place> places;
};

struct AnnotateNames : importer::impl::AnnotateNamesPassBase<AnnotateNames> {
  void runOnOperation() override {
    scopes = Scopes();
    firstCalls.clear();
    whole.clear();
    func::FuncOp graph = findGraph(getOperation());
    if (!graph)
      return signalPassFailure();
    annotateOperations(graph);
    shortenScopes(graph);
    if (failed(nameArguments(graph)) || failed(nameResults(graph)))
      return signalPassFailure();
    alignScopes(graph);
  }

  /// Flax puts the class of the whole model before every scope, where parameters have the name of the argument. A block
  /// needs one name, so the class is dropped if no other component ever precedes the first key of a parameter. PyTorch
  /// has the same names for both: an argument begins with the root of a scope, which is kept.
  void alignScopes(func::FuncOp graph) {
    llvm::StringSet<> roots, keys;
    for (unsigned index = 0; index < graph.getNumArguments(); ++index) {
      auto [root, below] = splitComponent(net::kNameAttr.getOfArgument(graph, index).getValue());
      roots.insert(root);
      keys.insert(splitComponent(below).first);
    }
    keys.erase("");
    StringRef root = scopes.findRoot(roots, keys);
    if (root.empty())
      return;
    // Operations that shared a dictionary of attributes share one afterwards too.
    llvm::DenseMap<DictionaryAttr, DictionaryAttr> aligned;
    graph.walk([&](Operation *op) {
      auto [entry, isNew] = aligned.try_emplace(op->getDiscardableAttrDictionary());
      if (isNew)
        entry->second = withoutRoot(entry->first, root);
      op->setDiscardableAttrs(entry->second);
    });
  }

  static DictionaryAttr withoutRoot(DictionaryAttr attributes, StringRef root) {
    auto scope = attributes.getAs<StringAttr>(net::kScopeAttr);
    auto [first, below] = splitComponent(scope ? scope.getValue() : StringRef());
    if (first != root)
      return attributes;
    NamedAttrList list(attributes);
    if (below.empty())
      list.erase(net::kScopeAttr);
    else
      list.set(net::kScopeAttr, StringAttr::get(attributes.getContext(), below));
    return list.getDictionary(attributes.getContext());
  }

  void annotateOperations(func::FuncOp graph) {
    for (auto func : getOperation().getOps<func::FuncOp>())
      func.walk([&](Operation *op) {
        if (isa<func::FuncOp, func::ReturnOp>(op) || net::kRoleAttr.isOn(op))
          return;
        Scopes::Place &place = scopes.get(op->getLoc());
        place.isInGraph |= func == graph;
        addAttributes(op, place.attributes);
        if (place.scope.empty())
          return;
        if (place.isWhole)
          whole.push_back(op);
        if (auto call = dyn_cast<func::CallOp>(op))
          firstCalls.try_emplace(call.getCallee(), place.scope);
      });
  }

  /// Removes the scope of the first call from operations of a called function. Exporters that write whole scopes print
  /// such a function once, with the scopes of its first call; inlining prefixes the scope of every call again.
  void shortenScopes(func::FuncOp graph) {
    for (Operation *op : whole) {
      auto function = op->getParentOfType<func::FuncOp>();
      StringRef scope = net::kScopeAttr.get(op).getValue();
      std::string outer = function == graph ? "" : firstCalls.lookup(function.getSymName());
      if (outer.empty() || !scope.consume_front(outer) || !(scope.empty() || scope.consume_front(".")))
        continue;
      if (scope.empty())
        net::kScopeAttr.remove(op);
      else
        net::kScopeAttr.set(op, StringAttr::get(&getContext(), scope));
    }
  }

  /// `attributes` of an argument or result with the name `name`, without JAX's form of it. The caller sets the
  /// attributes of all arguments at once: each change takes time linear in the number of arguments.
  static DictionaryAttr withName(DictionaryAttr attributes, StringAttr name) {
    NamedAttrList list(attributes);
    list.erase("jax.result_info");
    list.set(net::kNameAttr, name);
    return list.getDictionary(name.getContext());
  }

  LogicalResult nameArguments(func::FuncOp graph) {
    llvm::StringMap<unsigned> seen;
    SmallVector<DictionaryAttr, 0> attributes;
    for (BlockArgument argument : graph.getArguments()) {
      unsigned index = argument.getArgNumber();
      auto name = net::kNameAttr.getOfArgument(graph, index);
      if (!name) {
        StringRef path = getNameIn(argument.getLoc());
        bool isNamed = !path.empty() && path != kNamelessArgument;
        name = StringAttr::get(&getContext(), isNamed ? Twine(getDottedName(path)) : "arg" + Twine(index));
      }
      auto [other, isNew] = seen.try_emplace(name.getValue(), index);
      if (!isNew)
        return emitError(argument.getLoc())
               << "arguments " << other->second << " and " << index << " are both called " << name;
      attributes.push_back(withName(graph.getArgAttrDict(index), name));
    }
    graph.setAllArgAttrs(attributes);
    return success();
  }

  LogicalResult nameResults(func::FuncOp graph) {
    llvm::StringMap<unsigned> seen;
    SmallVector<DictionaryAttr, 0> attributes;
    for (unsigned index = 0; index < graph.getNumResults(); ++index) {
      auto name = net::kNameAttr.getOfResult(graph, index);
      auto info = graph.getResultAttrOfType<StringAttr>(index, "jax.result_info");
      if (!name)
        name = StringAttr::get(&getContext(), info && llvm::json::isUTF8(info.getValue())
                                                  ? Twine(getResultName(info.getValue()))
                                                  : "out" + Twine(index));
      auto [other, isNew] = seen.try_emplace(name.getValue(), index);
      if (!isNew)
        return graph.emitError() << "results " << other->second << " and " << index << " are both called " << name;
      attributes.push_back(withName(graph.getResultAttrDict(index), name));
    }
    graph.setAllResultAttrs(attributes);
    return success();
  }

  Scopes scopes;
  /// The scope of the first call of each function, by its name.
  llvm::StringMap<std::string> firstCalls;
  /// Operations with scopes that start at the graph.
  SmallVector<Operation *> whole;
};

} // namespace
