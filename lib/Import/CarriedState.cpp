//===- CarriedState.cpp - arguments paired with their next values ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pairs arguments of a training step with the results that are their next values. Rules of the user come first. Donated
// arguments follow, one tree of a Python structure at a time: a tree matches a prefix of result names if every argument
// finds a free result of its path and type below it. Each match takes results away from the remaining trees, so the
// search repeats until no tree changes; trees with several matching prefixes are returned as ambiguous.
//
//===----------------------------------------------------------------------===//

#include "CarriedState.h"
#include "meshwright/Import/Names.h"
#include "meshwright/Support/Glob.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::importer;

CarriedState::CarriedState(ArrayRef<Port> arguments, ArrayRef<Port> results)
    : arguments(arguments), results(results), resultOf(arguments.size()), isTaken(results.size()) {
  for (auto [index, result] : llvm::enumerate(results))
    resultNamed.try_emplace(result.name, index);
}

void CarriedState::pair(unsigned argument, unsigned result) {
  resultOf[argument] = result;
  isTaken[result] = true;
}

//===----------------------------------------------------------------------===//
// Rules of the user
//===----------------------------------------------------------------------===//

LogicalResult CarriedState::pairByRule(const CarryRule &rule, unsigned argument, ArrayRef<StringRef> captures,
                                       EmitError emitError) {
  std::optional<std::string> name = fillGlob(rule.result, captures);
  if (!name)
    return emitError(std::nullopt) << "\"" << rule.argument << "\" is carried to \"" << rule.result
                                   << "\", which has not as many * and ?";
  auto named = resultNamed.find(*name);
  if (named == resultNamed.end())
    return emitError(argument) << "argument " << arguments[argument].name << " is carried to result " << *name
                               << ", which is none of the graph's " << results.size() << " results";
  const Port &result = results[named->second];
  if (isTaken[named->second])
    return emitError(argument) << "argument " << arguments[argument].name << " is carried to result " << *name
                               << ", and so is another";
  if (result.type != arguments[argument].type)
    return emitError(argument) << "argument " << arguments[argument].name << " of " << arguments[argument].type
                               << " is carried to result " << *name << " of " << result.type;
  pair(argument, named->second);
  return success();
}

LogicalResult CarriedState::pairByRules(ArrayRef<CarryRule> rules, EmitError emitError) {
  for (const CarryRule &rule : rules) {
    bool any = false;
    for (auto [index, argument] : llvm::enumerate(arguments)) {
      auto captures = captureGlob(rule.argument, argument.name);
      any |= captures.has_value();
      // The first rule that matches applies.
      if (captures && !resultOf[index] && failed(pairByRule(rule, index, *captures, emitError)))
        return failure();
    }
    applied.push_back(rule);
    if (!any)
      return emitError(std::nullopt) << "glob \"" << rule.argument << "\" matches none of the graph's "
                                     << arguments.size() << " arguments";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Donated arguments
//===----------------------------------------------------------------------===//

/// `path` below `prefix`, which may be empty.
static std::string join(StringRef prefix, StringRef path) {
  return prefix.empty() ? path.str() : (prefix + "." + path).str();
}

static size_t countComponents(StringRef name) {
  size_t count = 0;
  for (; !name.empty(); name = splitComponent(name).second)
    ++count;
  return count;
}

std::optional<unsigned> CarriedState::findFree(StringRef name, unsigned argument) const {
  auto named = resultNamed.find(name);
  if (named == resultNamed.end() || isTaken[named->second] || results[named->second].type != arguments[argument].type)
    return std::nullopt;
  return named->second;
}

/// The prefixes of the result names that end in `path`.
SmallVector<StringRef> CarriedState::getPrefixes(StringRef path) const {
  SmallVector<StringRef> prefixes;
  for (const Port &result : results)
    if (StringRef prefix = result.name; prefix.consume_back(path) && (prefix.empty() || prefix.consume_back(".")))
      prefixes.push_back(prefix);
  return prefixes;
}

/// The path of an argument below the root of its tree.
static StringRef getPath(const Port &argument) { return splitComponent(argument.name).second; }

/// The prefixes below which results have the paths and types of `tree`: its own root if that fits, otherwise all
/// fitting prefixes of the shortest length.
SmallVector<std::string> CarriedState::findPrefixes(StringRef root, ArrayRef<unsigned> tree) const {
  auto fits = [&](StringRef prefix) {
    return llvm::all_of(tree, [&](unsigned argument) {
      return findFree(join(prefix, getPath(arguments[argument])), argument).has_value();
    });
  };
  if (fits(root))
    return {root.str()};
  SmallVector<std::string> best;
  size_t shortest = 0;
  for (StringRef prefix : getPrefixes(getPath(arguments[tree.front()]))) {
    size_t length = countComponents(prefix);
    if ((!best.empty() && length > shortest) || !fits(prefix))
      continue;
    if (length < shortest)
      best.clear();
    shortest = length;
    best.push_back(prefix.str());
  }
  return best;
}

void CarriedState::pairTree(StringRef root, StringRef prefix, ArrayRef<unsigned> tree) {
  if (!prefix.empty())
    applied.push_back({join(root, "*"), join(prefix, "*")});
  for (unsigned argument : tree)
    pair(argument, *findFree(join(prefix, getPath(arguments[argument])), argument));
}

unsigned CarriedState::pairInOrder(IsElementwise isElementwise) {
  unsigned most = 0, first = 0;
  // A step returns its state before or after its loss and metrics, whose types differ from those of the first
  // arguments.
  for (unsigned offset = 0; offset < results.size(); ++offset) {
    unsigned count = 0;
    while (count < arguments.size() && offset + count < results.size() &&
           arguments[count].type == results[offset + count].type && isElementwise(count, offset + count))
      ++count;
    if (count > most) {
      most = count;
      first = offset;
    }
    // The rest is shorter.
    if (results.size() - offset <= most)
      break;
  }
  for (unsigned index = 0; index < most; ++index)
    pair(index, first + index);
  return most;
}

std::string CarriedState::describeObstacle(ArrayRef<unsigned> tree) const {
  // The prefix below which most of the tree is found; the shortest one of several.
  StringRef best;
  size_t most = 0;
  for (StringRef prefix : getPrefixes(getPath(arguments[tree.front()]))) {
    size_t found = llvm::count_if(tree, [&](unsigned argument) {
      return findFree(join(prefix, getPath(arguments[argument])), argument).has_value();
    });
    if (found > most || (found == most && found > 0 && countComponents(prefix) < countComponents(best)))
      std::tie(best, most) = std::tie(prefix, found);
  }
  for (unsigned argument : most == 0 ? ArrayRef<unsigned>() : tree) {
    std::string name = join(best, getPath(arguments[argument]));
    if (findFree(name, argument))
      continue;
    std::string text;
    llvm::raw_string_ostream out(text);
    out << arguments[argument].name << " of '" << arguments[argument].type << "'";
    if (auto named = resultNamed.find(name); named == resultNamed.end())
      out << " has no result " << name;
    else if (results[named->second].type != arguments[argument].type)
      out << " has result " << name << " of '" << results[named->second].type << "'";
    else
      out << " has result " << name << ", which is that of another argument";
    return text;
  }
  return most == 0 ? "" : ("others fit as well as those below " + Twine(best)).str();
}

void CarriedState::pairSingle(const Donation &donation, IsElementwise isElementwise) {
  auto [argument, heir] = donation;
  if (std::optional<unsigned> result = findFree(arguments[argument].name, argument))
    pair(argument, *result);
  else if (heir && !isTaken[*heir] && results[*heir].type == arguments[argument].type && isElementwise(argument, *heir))
    pair(argument, *heir);
}

/// True if the exporter says for at least one argument of `tree` which result takes over its memory, and every such
/// result is the one below `prefix`.
bool CarriedState::takesOver(StringRef prefix, ArrayRef<Donation> tree) const {
  auto says = [](const Donation &donation) { return donation.result.has_value(); };
  return llvm::any_of(tree, says) && llvm::all_of(tree, [&](const Donation &donation) {
           return !says(donation) ||
                  findFree(join(prefix, getPath(arguments[donation.argument])), donation.argument) == donation.result;
         });
}

/// True if some result below `prefix` is computed element by element from its argument.
bool CarriedState::isComputedFrom(StringRef prefix, ArrayRef<unsigned> tree, IsElementwise isElementwise) const {
  return llvm::any_of(tree, [&](unsigned argument) {
    return isElementwise(argument, *findFree(join(prefix, getPath(arguments[argument])), argument));
  });
}

/// Assigns prefixes that are computed from the fewest trees first: a moving average is also computed from the
/// parameters, but the new parameters are not computed from the average.
void CarriedState::propose(MutableArrayRef<AmbiguousTree> trees, IsElementwise isElementwise) const {
  llvm::MapVector<StringRef, SmallVector<AmbiguousTree *>> sourcesOf;
  for (AmbiguousTree &tree : trees)
    for (StringRef prefix : tree.prefixes) {
      SmallVector<AmbiguousTree *> &sources = sourcesOf[prefix];
      if (isComputedFrom(prefix, tree.arguments, isElementwise))
        sources.push_back(&tree);
    }
  llvm::StringSet<> proposed;
  auto choose = [&](AmbiguousTree &tree, StringRef prefix) {
    if (tree.proposal.empty() && proposed.insert(prefix).second)
      tree.proposal = prefix.str();
  };
  for (size_t count = 1; count <= trees.size(); ++count)
    for (const auto &[prefix, sources] : sourcesOf)
      for (AmbiguousTree *tree : sources.size() == count ? ArrayRef(sources) : ArrayRef<AmbiguousTree *>())
        choose(*tree, prefix);
  for (AmbiguousTree &tree : trees)
    for (StringRef prefix : tree.prefixes)
      choose(tree, prefix);
}

SmallVector<AmbiguousTree, 0> CarriedState::pairDonated(ArrayRef<Donation> donated, IsElementwise isElementwise) {
  llvm::MapVector<StringRef, SmallVector<Donation>> trees;
  for (const Donation &donation : donated)
    if (!resultOf[donation.argument])
      trees[splitComponent(arguments[donation.argument].name).first].push_back(donation);
  trees.remove_if([&](const auto &entry) {
    const auto &[root, tree] = entry;
    bool isSingle = tree.size() == 1 && arguments[tree.front().argument].name == root;
    if (isSingle)
      pairSingle(tree.front(), isElementwise);
    return isSingle;
  });
  // A paired tree leaves fewer results for the remaining ones, so the search repeats until nothing changes.
  SmallVector<AmbiguousTree, 0> ambiguous;
  for (bool changed = true; changed;) {
    changed = false;
    ambiguous.clear();
    trees.remove_if([&](const auto &entry) {
      const auto &[root, tree] = entry;
      auto members = llvm::map_to_vector(tree, [](const Donation &donation) { return donation.argument; });
      SmallVector<std::string> prefixes = findPrefixes(root, members);
      if (prefixes.size() > 1)
        ambiguous.push_back({root, members, prefixes, ""});
      if (prefixes.size() == 1)
        pairTree(root, prefixes.front(), members);
      changed |= prefixes.size() == 1;
      return prefixes.size() == 1;
    });
    for (const AmbiguousTree &tree : changed ? ArrayRef<AmbiguousTree>() : ArrayRef(ambiguous)) {
      auto isSource = [&](StringRef prefix) { return isComputedFrom(prefix, tree.arguments, isElementwise); };
      const std::string *heir = llvm::find_if(
          tree.prefixes, [&](StringRef prefix) { return takesOver(prefix, trees.find(tree.root)->second); });
      if (heir == tree.prefixes.end() || (!isSource(*heir) && llvm::any_of(tree.prefixes, isSource)))
        continue;
      pairTree(tree.root, *heir, tree.arguments);
      trees.erase(tree.root);
      changed = true;
      break;
    }
  }
  propose(ambiguous, isElementwise);
  return ambiguous;
}

SmallVector<WrittenState, 0> CarriedState::findWritten() const {
  llvm::StringSet<> known;
  for (const Port &argument : arguments)
    known.insert(argument.name);
  SmallVector<WrittenState, 0> written;
  for (auto [index, result] : llvm::enumerate(results)) {
    if (isTaken[index])
      continue;
    for (const CarryRule &rule : applied) {
      std::optional<SmallVector<StringRef>> captures = captureGlob(rule.result, result.name);
      if (!captures || captures->empty())
        continue;
      std::optional<std::string> name = fillGlob(rule.argument, *captures);
      if (!name || !known.insert(*name).second)
        continue;
      written.push_back({std::move(*name), static_cast<unsigned>(index)});
      break;
    }
  }
  return written;
}
