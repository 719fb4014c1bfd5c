//===- NonFinite.h - values of a run that are not finite --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_NONFINITE_H
#define MESHWRIGHT_RUNTIME_NONFINITE_H

#include "meshwright/runtime/Session.h"

namespace meshwright::runtime {

/// A value with elements that are NaN or infinite.
struct NonFiniteValue {
  std::string name;
  /// `NaN`, which wins where a value has both, or `infinite`.
  Finiteness kind = Finiteness::NotANumber;
  /// The ranks whose part has such elements, in ascending order; of the holders of one part only the first counts.
  std::vector<int64_t> ranks;
  bool isVariable = true;
};

/// `nan` or `inf`.
std::string_view getName(Finiteness kind);

/// Looks for such elements in the gradients among the outputs that the last step computed (`grad/...`) and in all
/// variables, in this order, each part once, on the ranks' threads. Called and answered on all processes. One pass over
/// the arrays; those of GPUs are fetched before.
Result<std::vector<NonFiniteValue>> findNonFinite(Session &session);

/// The first three and the number of the others: `"p.w" (NaN on rank 1), "p.b" (infinite on ranks 0 and 2) and 3 more`.
std::string describe(std::span<const NonFiniteValue> values);

} // namespace meshwright::runtime

#endif
