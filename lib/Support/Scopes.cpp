//===- Scopes.cpp - searches prefixes of dotted scopes --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/Support/Scopes.h"
#include "llvm/ADT/StringExtras.h"

using llvm::StringRef;

StringRef meshwright::findScopePrefix(StringRef scope, llvm::function_ref<bool(StringRef)> holds) {
  for (size_t position = 0; position < scope.size(); ++position) {
    if (scope[position] == '\\')
      ++position;
    else if (scope[position] == '.' && holds(scope.take_front(position)))
      return scope.take_front(position);
  }
  return !scope.empty() && holds(scope) ? scope : StringRef();
}

StringRef meshwright::findBlock(StringRef scope) {
  return findScopePrefix(scope, [](StringRef prefix) { return !prefix.empty() && llvm::isDigit(prefix.back()); });
}
