//===- Mutator.cpp - small damages to a file ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Mutations for readers of text and binary files: bytes are changed, removed or repeated, and words are exchanged for
// other words of the same file or for boundary values, so that many mutants pass the parser and reach deeper checks.
//
//===----------------------------------------------------------------------===//

#include "Mutator.h"
#include <algorithm>
#include <cctype>
#include <sstream>
#include <tuple>
#include <vector>

using namespace meshwright::test;

std::string Mutator::drawNumber() {
  static const char *const numbers[] = {"0",
                                        "-1",
                                        "1",
                                        "2",
                                        "7",
                                        "255",
                                        "65536",
                                        "2147483647",
                                        "2147483648",
                                        "4294967295",
                                        "4294967296",
                                        "4611686018427387904",
                                        "9223372036854775807",
                                        "9223372036854775808",
                                        "18446744073709551615",
                                        "99999999999999999999999",
                                        "-9223372036854775808",
                                        "1e308",
                                        "0x7FF0000000000000",
                                        "nan"};
  return numbers[draw(std::size(numbers))];
}

void Mutator::changeBytes(std::string &content) {
  size_t at = draw(content.size() + 1), length = std::min(content.size() - at, 1 + draw(16));
  size_t from = draw(content.size() + 1), count = std::min(content.size() - from, 1 + draw(16));
  switch (draw(6)) {
  case 0:
    if (at < content.size())
      content[at] ^= static_cast<char>(1 << draw(8));
    return;
  case 1:
    if (at < content.size())
      content[at] = static_cast<char>(draw(256));
    return;
  case 2:
    content.insert(at, 1, static_cast<char>(draw(256)));
    return;
  case 3:
    content.erase(at, length);
    return;
  case 4:
    content.insert(at, content.substr(from, count));
    return;
  default:
    content.replace(at, length, content.substr(from, count));
  }
}

std::string Mutator::mutateBytes(std::string content) {
  for (size_t changes = 1 + draw(3); changes != 0; --changes)
    changeBytes(content);
  return content;
}

/// The begin and end of every word of a line: letters, digits, and what stands in names.
static std::vector<std::pair<size_t, size_t>> findWords(const std::string &line) {
  auto isPart = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '-'; };
  std::vector<std::pair<size_t, size_t>> words;
  for (size_t at = 0; at < line.size(); ++at)
    if (isPart(line[at])) {
      size_t end = at;
      while (end < line.size() && isPart(line[end]))
        ++end;
      words.push_back({at, end});
      at = end;
    }
  return words;
}

void Mutator::changeWord(std::string &line, const std::string &other) {
  auto words = findWords(line), others = findWords(other);
  if (words.empty() || others.empty())
    return;
  auto [begin, end] = words[draw(words.size())];
  bool isNumber = std::isdigit(static_cast<unsigned char>(line[begin]));
  if (isNumber && draw(3) == 0) {
    line.replace(begin, end - begin, drawNumber());
    return;
  }
  // More often than not it is a word of the same kind, so that the text still means something.
  auto getKind = [](const std::string &text, size_t at) {
    return std::pair(at == 0 ? ' ' : text[at - 1], std::isdigit(static_cast<unsigned char>(text[at])) != 0);
  };
  auto [otherBegin, otherEnd] = others[draw(others.size())];
  for (int tries = 0; tries != 8 && getKind(line, begin) != getKind(other, otherBegin); ++tries)
    std::tie(otherBegin, otherEnd) = others[draw(others.size())];
  line.replace(begin, end - begin, other.substr(otherBegin, otherEnd - otherBegin));
}

std::string Mutator::mutateLines(const std::string &content) {
  std::vector<std::string> lines;
  std::istringstream stream(content);
  for (std::string line; std::getline(stream, line);)
    lines.push_back(line);
  for (size_t changes = std::max<size_t>(draw(4), 1); changes != 0 && !lines.empty(); --changes) {
    size_t at = draw(lines.size()), other = draw(lines.size());
    switch (draw(8)) {
    case 0:
      lines.erase(lines.begin() + static_cast<ptrdiff_t>(at));
      break;
    case 1:
      lines.insert(lines.begin() + static_cast<ptrdiff_t>(at), lines[other]);
      break;
    case 2:
      std::swap(lines[at], lines[other]);
      break;
    case 3:
      lines[at] = lines[other];
      break;
    default:
      changeWord(lines[at], lines[other]);
    }
  }
  std::string result;
  for (const std::string &line : lines)
    result += line + "\n";
  return result;
}

/// The positions of `words` in `content`, each with its word; parts of longer words do not count.
static std::vector<std::pair<size_t, const std::string *>> findAll(const std::string &content,
                                                                   const std::vector<std::string> &words) {
  auto isPart = [&](size_t at) {
    return at < content.size() && (std::isalnum(static_cast<unsigned char>(content[at])) || content[at] == '_');
  };
  std::vector<std::pair<size_t, const std::string *>> found;
  for (const std::string &word : words)
    for (size_t at = word.empty() ? word.npos : content.find(word); at != word.npos; at = content.find(word, at + 1))
      if (!isPart(at + word.size()) && (at == 0 || !isPart(at - 1)))
        found.push_back({at, &word});
  return found;
}

std::string Mutator::exchangeWords(std::string content, const std::vector<std::vector<std::string>> &groups) {
  for (size_t changes = 1 + draw(3); changes != 0;) {
    const std::vector<std::string> &group = groups[draw(groups.size())];
    auto found = findAll(content, group);
    if (found.empty())
      continue;
    auto [at, word] = found[draw(found.size())];
    content.replace(at, word->size(), group[draw(group.size())]);
    --changes;
  }
  return content;
}
