//===- TwinFunctions.h - the functions that the twin calls ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The compiler refers to them by a table, whose address the runtime writes into the kernels' library.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_TWINFUNCTIONS_H
#define MESHWRIGHT_RUNTIME_TWINFUNCTIONS_H

#include <cstdint>
#include <string_view>

namespace meshwright::runtime {

/// The functions that kernels of the twin call. `type` is the float type of the schema in which the program computes
/// the result; the twin computes it in f64 and rounds it as Rounding.h says.
struct TwinFunctions {
  double (*add)(uint64_t type, double lhs, double rhs);
  double (*subtract)(uint64_t type, double lhs, double rhs);
  double (*multiply)(uint64_t type, double lhs, double rhs);
  double (*divide)(uint64_t type, double lhs, double rhs);
  /// Rounds the result of a function or conversion.
  double (*round)(uint64_t type, double value);
  /// From the bits of a float of that type, and back.
  double (*fromPattern)(uint64_t type, uint64_t pattern);
  uint64_t (*toPattern)(uint64_t type, double value);
};

/// The names of the entries, in their order, for the compiler.
inline constexpr std::string_view twinFunctionNames[] = {"add",   "subtract",    "multiply", "divide",
                                                         "round", "fromPattern", "toPattern"};

const TwinFunctions &getTwinFunctions();

} // namespace meshwright::runtime

#endif
