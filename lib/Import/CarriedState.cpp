//===- CarriedState.cpp - arguments that a step gives back ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CarriedState.h"
#include "meshwright/Import/Names.h"
#include "meshwright/Support/Glob.h"
#include "llvm/ADT/MapVector.h"

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
// What the user says
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
      // The first rule that matches counts.
      if (captures && !resultOf[index] && failed(pairByRule(rule, index, *captures, emitError)))
        return failure();
    }
    if (!any)
      return emitError(std::nullopt) << "glob \"" << rule.argument << "\" matches none of the graph's "
                                     << arguments.size() << " arguments";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// What the exporter says
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

/// What stands in front of `path` in the names of results that end in it.
SmallVector<StringRef> CarriedState::getPrefixes(StringRef path) const {
  SmallVector<StringRef> prefixes;
  for (const Port &result : results)
    if (StringRef prefix = result.name; prefix.consume_back(path) && (prefix.empty() || prefix.consume_back(".")))
      prefixes.push_back(prefix);
  return prefixes;
}

/// The path of an argument below the root of its tree.
static StringRef getPath(const Port &argument) { return splitComponent(argument.name).second; }

/// The prefix below which results have the paths and types of `tree`: that of the arguments themselves, else the
/// shortest. Nothing where there is none, or several of one length.
std::optional<std::string> CarriedState::findPrefix(StringRef root, ArrayRef<unsigned> tree) const {
  auto fits = [&](StringRef prefix) {
    return llvm::all_of(tree, [&](unsigned argument) {
      return findFree(join(prefix, getPath(arguments[argument])), argument).has_value();
    });
  };
  if (fits(root))
    return root.str();
  std::optional<std::string> best;
  bool isUnique = false;
  for (StringRef prefix : getPrefixes(getPath(arguments[tree.front()]))) {
    size_t length = countComponents(prefix), shortest = best ? countComponents(*best) : length + 1;
    if (length > shortest || !fits(prefix))
      continue;
    isUnique = length < shortest;
    best = prefix.str();
  }
  return isUnique ? best : std::nullopt;
}

void CarriedState::pairTree(StringRef root, ArrayRef<unsigned> tree) {
  if (tree.size() == 1 && arguments[tree.front()].name == root) {
    if (std::optional<unsigned> result = findFree(root, tree.front()))
      pair(tree.front(), *result);
    return;
  }
  std::optional<std::string> prefix = findPrefix(root, tree);
  if (!prefix)
    return;
  for (unsigned argument : tree)
    pair(argument, *findFree(join(*prefix, getPath(arguments[argument])), argument));
}

std::string CarriedState::describeObstacle(ArrayRef<unsigned> tree) const {
  // The prefix that most of the tree is found below, the shortest of several.
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

void CarriedState::pairDonated(ArrayRef<unsigned> donated) {
  llvm::MapVector<StringRef, SmallVector<unsigned>> trees;
  for (unsigned argument : donated)
    if (!resultOf[argument])
      trees[splitComponent(arguments[argument].name).first].push_back(argument);
  for (auto &[root, tree] : trees)
    pairTree(root, tree);
}
