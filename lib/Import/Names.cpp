//===- Names.cpp - parses JAX paths and slash-separated scopes ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// JAX names arguments and results by Python paths (`p['h'][0].mu`) and operations by slash-separated scopes
// (`jit(f)/transformer/h/3/dot_general`). Both become dotted names, the form in which strategies match them. Every
// function accepts any text: text that is not a path becomes one component.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Import/Names.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace meshwright;

std::string importer::escapeComponent(StringRef key) {
  std::string component;
  for (char c : key) {
    if (c == '.')
      component += '\\';
    component += c;
  }
  return component;
}

std::pair<StringRef, StringRef> importer::splitComponent(StringRef name) {
  for (size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '.')
      return {name.take_front(i), name.drop_front(i + 1)};
    if (name[i] == '\\')
      ++i;
  }
  return {name, {}};
}

/// Consumes a quoted key from the front of `text`, which starts with the quote. Empty if the quote is not closed.
static std::optional<std::string> takeQuoted(StringRef &text) {
  char quote = text.front();
  std::string key;
  for (size_t i = 1; i < text.size(); ++i) {
    if (text[i] == quote) {
      text = text.drop_front(i + 1);
      return key;
    }
    if (text[i] == '\\' && i + 1 < text.size())
      ++i;
    key += text[i];
  }
  return std::nullopt;
}

/// Consumes `.attribute`, `['key']` or `[0]` from the front of `text`.
static std::optional<std::string> takeKey(StringRef &text) {
  if (text.consume_front(".")) {
    StringRef name = text.take_while([](char c) { return c != '.' && c != '['; });
    text = text.drop_front(name.size());
    return name.empty() ? std::nullopt : std::optional(name.str());
  }
  if (!text.consume_front("[") || text.empty())
    return std::nullopt;
  std::optional<std::string> key;
  if (text.front() == '\'' || text.front() == '"') {
    key = takeQuoted(text);
  } else {
    StringRef index = text.take_until([](char c) { return c == ']'; });
    text = text.drop_front(index.size());
    key = index.trim().str();
  }
  return text.consume_front("]") ? key : std::nullopt;
}

/// The keys of a path below its root.
static std::optional<SmallVector<std::string>> splitPath(StringRef path) {
  SmallVector<std::string> keys;
  while (!path.empty()) {
    std::optional<std::string> key = takeKey(path);
    if (!key)
      return std::nullopt;
    keys.push_back(importer::escapeComponent(*key));
  }
  return keys;
}

std::string importer::getDottedName(StringRef path) {
  StringRef root = path.take_until([](char c) { return c == '.' || c == '['; });
  std::optional<SmallVector<std::string>> keys = splitPath(path.drop_front(root.size()));
  if (!keys || root.empty())
    return escapeComponent(path);
  keys->insert(keys->begin(), root.str());
  return join(*keys, ".");
}

std::string importer::getResultName(StringRef path) {
  // JAX before version 0.5 omitted the root `result`.
  if (path.empty())
    return "result";
  StringRef below = path;
  if (!(below.consume_front("result") || path.starts_with("[")) || below.empty())
    return getDottedName(path);
  std::optional<SmallVector<std::string>> keys = splitPath(below);
  return keys ? join(*keys, ".") : getDottedName(path);
}

/// Splits `name` at slashes outside of brackets; old versions of JAX print arguments of primitives in brackets.
static SmallVector<StringRef> splitScope(StringRef name) {
  SmallVector<StringRef> parts;
  size_t start = 0;
  int depth = 0;
  for (size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '(' || name[i] == '[')
      ++depth;
    else if (name[i] == ')' || name[i] == ']')
      --depth;
    else if (name[i] == '/' && depth <= 0) {
      parts.push_back(name.slice(start, i));
      start = i + 1;
    }
  }
  parts.push_back(name.drop_front(start));
  return parts;
}

/// The inner name of `transpose(inner)`, `jvp(inner)` and other transformations.
static std::optional<StringRef> getTransformed(StringRef part) {
  auto [transform, rest] = part.split('(');
  if (!rest.consume_back(")"))
    return std::nullopt;
  for (StringRef known : {"jvp", "transpose", "vmap", "checkpoint", "remat", "linearize"})
    if (transform == known)
      return rest;
  return std::nullopt;
}

std::string importer::getScope(StringRef name) {
  std::string scope;
  SmallVector<StringRef> parts = splitScope(name);
  parts.pop_back();
  for (StringRef part : parts) {
    while (std::optional<StringRef> inner = getTransformed(part))
      part = *inner;
    if (part.empty() || ((part.starts_with("jit(") || part.starts_with("pjit(")) && part.ends_with(")")))
      continue;
    if (!scope.empty())
      scope += '.';
    scope += escapeComponent(part);
  }
  return scope;
}

bool importer::isWhole(StringRef name) {
  SmallVector<StringRef> parts = splitScope(name);
  return parts.size() > 2 && parts[0].starts_with("jit(") && parts[1] == "jit(main)";
}

bool importer::isTransposed(StringRef name) {
  for (StringRef part : splitScope(name))
    if (part.starts_with("transpose("))
      return true;
  return false;
}
