//===- Mutator.h - small damages to a file ----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TEST_LIB_MUTANTS_MUTATOR_H
#define MESHWRIGHT_TEST_LIB_MUTANTS_MUTATOR_H

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace meshwright::test {

/// Makes mutants of files. The same seed makes the same ones.
class Mutator {
public:
  explicit Mutator(uint64_t seed) : random(seed) {}

  /// One to three changes of single bytes, ranges of bytes, or numbers.
  std::string mutateBytes(std::string content);
  /// One to three changes of lines or of what stands in one: a line is left out, doubled, moved, or takes the place of
  /// another; a word or a number becomes another of the text.
  std::string mutateLines(const std::string &content);

  /// One to three changes of a word, or a few, to another of the same group: what was right stays so more often than
  /// not, and means something else.
  std::string exchangeWords(std::string content, const std::vector<std::vector<std::string>> &groups);

  /// A number below `count`, which is positive.
  size_t draw(size_t count) { return random() % count; }
  /// A number that programs get wrong, as text.
  std::string drawNumber();

private:
  void changeBytes(std::string &content);
  void changeWord(std::string &line, const std::string &other);

  std::mt19937_64 random;
};

} // namespace meshwright::test

#endif
