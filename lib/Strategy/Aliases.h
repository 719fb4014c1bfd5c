//===- Aliases.h - other names of fields and values -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_STRATEGY_ALIASES_H
#define MESHWRIGHT_LIB_STRATEGY_ALIASES_H

#include "llvm/ADT/StringRef.h"
#include <string>
#include <vector>

namespace meshwright::strategy {

/// The text of a strategy in which every alias is replaced by the name of the schema, with the places of the original.
/// Aliases are names of fields (`gradient_merge`), and names of pipeline schedules in capitals or not, as an
/// identifier or a string (`GPIPE`, `"1F1B"`). Comments and other strings are left as they are.
class ResolvedText {
public:
  explicit ResolvedText(llvm::StringRef text);

  const std::string &get() const { return resolved; }
  /// The column of the original text for a column of the resolved one. Lines and columns count from 0; lines are the
  /// same in both.
  int getColumn(int line, int column) const;

private:
  void replace(llvm::StringRef token, llvm::StringRef name);

  /// A replaced token: the columns where it starts and ends in the resolved text, and its growth.
  struct Shift {
    int line, begin, end, growth;
  };

  std::string resolved;
  int line = 0;
  size_t lineStart = 0;
  std::vector<Shift> shifts;
};

} // namespace meshwright::strategy

#endif
