//===- Numbers.h - numbers in diagnostics -----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_STRATEGY_NUMBERS_H
#define MESHWRIGHT_LIB_STRATEGY_NUMBERS_H

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/SmallString.h"

namespace meshwright::strategy {

/// The shortest decimal text of `value`.
inline llvm::SmallString<16> toText(double value) {
  llvm::SmallString<16> text;
  llvm::APFloat(value).toString(text);
  return text;
}

} // namespace meshwright::strategy

#endif
