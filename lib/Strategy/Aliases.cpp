//===- Aliases.cpp - replaces aliases in the text of a strategy -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Protobuf's text format has no aliases for fields, and names of enumerators cannot start with a digit as 1F1B does.
//
//===----------------------------------------------------------------------===//

#include "Aliases.h"
#include "meshwright/Orders/TaskOrder.h"
#include "llvm/ADT/StringExtras.h"

using namespace meshwright;
using namespace meshwright::strategy;
using llvm::StringRef;

/// The schema's name of a field, for fields that have an alias.
static StringRef findField(StringRef token) {
  return token == "gradient_merge" ? StringRef("gradient_accumulation") : StringRef();
}

/// Takes a token off the front of `text`: an identifier or number, a string with its quotes, a comment, white space up
/// to the end of the line, or one other character. `text` is not empty.
static StringRef takeToken(StringRef &text) {
  auto isWord = [](char c) { return llvm::isAlnum(c) || c == '_'; };
  char first = text.front();
  size_t length = 1;
  if (isWord(first)) {
    length = text.find_if_not(isWord);
  } else if (first == '#') {
    length = text.find('\n');
  } else if (first == '"' || first == '\'') {
    while (length < text.size() && text[length] != first && text[length] != '\n')
      length += text[length] == '\\' ? 2 : 1;
    ++length;
  } else if (first == ' ' || first == '\t') {
    length = text.find_first_not_of(" \t");
  }
  StringRef token = text.take_front(length);
  text = text.drop_front(token.size());
  return token;
}

/// The schedule that a token names by its alias, as the schema has it; empty if it names none.
static std::string findSchedule(StringRef token) {
  if (token.size() > 2 && (token.front() == '"' || token.front() == '\''))
    token = token.drop_front().drop_back();
  std::optional<schedule::OrderKind> kind = schedule::findOrderKind(token);
  return kind ? schedule::getName(*kind).upper() : "";
}

ResolvedText::ResolvedText(StringRef text) {
  // The last words that are no white space: `schedule` and `:` come before the name of a schedule.
  StringRef last, beforeLast;
  while (!text.empty()) {
    StringRef token = takeToken(text);
    bool isSchedule = (last == ":" && beforeLast == "schedule") || last == "schedule";
    if (StringRef field = findField(token); !field.empty())
      replace(token, field);
    else if (std::string name = isSchedule ? findSchedule(token) : ""; !name.empty())
      replace(token, name);
    else
      resolved += token;
    if (token.contains('\n')) {
      line += token.count('\n');
      lineStart = resolved.rfind('\n') + 1;
    }
    if (!token.trim().empty() && token.front() != '#') {
      beforeLast = last;
      last = token;
    }
  }
}

void ResolvedText::replace(StringRef token, StringRef name) {
  int begin = static_cast<int>(resolved.size() - lineStart);
  resolved += name;
  int length = static_cast<int>(name.size());
  shifts.push_back({line, begin, begin + length, length - static_cast<int>(token.size())});
}

int ResolvedText::getColumn(int line, int column) const {
  int original = column;
  for (const Shift &shift : shifts)
    if (shift.line == line && column >= shift.end)
      original -= shift.growth;
  return original;
}
