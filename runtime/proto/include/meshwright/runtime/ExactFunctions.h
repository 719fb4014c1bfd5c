//===- ExactFunctions.h - the functions that exact kernels call -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The compiler refers to them by a table, whose address the runtime writes into the kernels' library.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_EXACTFUNCTIONS_H
#define MESHWRIGHT_RUNTIME_EXACTFUNCTIONS_H

#include "meshwright/runtime/Residue.h"
#include <string_view>

namespace meshwright::runtime {

/// The functions of floats that have no counterpart among residues: of a residue each is a pseudo-random residue, of an
/// infinity or NaN what the function is there.
enum class ExactFunction : uint32_t {
  Abs,
  Acos,
  Acosh,
  Asin,
  Asinh,
  Atan,
  Atan2,
  Atanh,
  Cbrt,
  Ceil,
  CopySign,
  Cos,
  Cosh,
  Erf,
  Erfc,
  Exp,
  Exp2,
  ExpM1,
  Floor,
  Log,
  Log10,
  Log1P,
  Log2,
  Power,
  Remainder,
  Round,
  RoundEven,
  ReciprocalSqrt,
  Sin,
  Sinh,
  Sqrt,
  Tan,
  Tanh,
  Trunc
};

/// A function of one operand, or of two.
Residue evaluate(ExactFunction function, Residue operand);
Residue evaluate(ExactFunction function, Residue lhs, Residue rhs);

/// The outcomes of a comparison, as bits of a mask.
enum ExactOutcome : uint32_t { ExactEqual = 1, ExactGreater = 2, ExactLess = 4, ExactUnordered = 8 };

/// The functions that exact kernels call, on words: the bits of residues. The kernels' library has the address of this
/// table, which the runtime writes (KernelTable.h).
struct ExactFunctions {
  uint64_t (*add)(uint64_t lhs, uint64_t rhs);
  uint64_t (*subtract)(uint64_t lhs, uint64_t rhs);
  uint64_t (*multiply)(uint64_t lhs, uint64_t rhs);
  uint64_t (*divide)(uint64_t lhs, uint64_t rhs);
  uint64_t (*negate)(uint64_t operand);
  /// Those of IEEE 754, where NaN wins, and those where it loses.
  uint64_t (*maximum)(uint64_t lhs, uint64_t rhs);
  uint64_t (*minimum)(uint64_t lhs, uint64_t rhs);
  uint64_t (*maximumNumber)(uint64_t lhs, uint64_t rhs);
  uint64_t (*minimumNumber)(uint64_t lhs, uint64_t rhs);
  /// 1 if the outcome is one of the mask.
  uint64_t (*compare)(uint64_t mask, uint64_t lhs, uint64_t rhs);
  uint64_t (*evaluateOne)(uint64_t function, uint64_t operand);
  uint64_t (*evaluateTwo)(uint64_t function, uint64_t lhs, uint64_t rhs);
  /// Converts an integer in 64 bits.
  uint64_t (*fromSigned)(uint64_t value);
  uint64_t (*fromUnsigned)(uint64_t value);
  /// The lower bits are the integer's: of a residue that a small integer has its value, of others pseudo-random ones.
  uint64_t (*toInteger)(uint64_t operand);
  /// From the bits of a float of a type of the schema, and back.
  uint64_t (*fromPattern)(uint64_t type, uint64_t pattern);
  uint64_t (*toPattern)(uint64_t type, uint64_t operand);
};

/// The names of the entries, in their order, for the compiler.
inline constexpr std::string_view exactFunctionNames[] = {
    "add",        "subtract",      "multiply",      "divide",      "negate",      "maximum",
    "minimum",    "maximumNumber", "minimumNumber", "compare",     "evaluateOne", "evaluateTwo",
    "fromSigned", "fromUnsigned",  "toInteger",     "fromPattern", "toPattern"};

const ExactFunctions &getExactFunctions();

} // namespace meshwright::runtime

#endif
