//===- Damage.h - mistakes that a compiler could make -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TEST_LIB_VERIFYMUTANTS_DAMAGE_H
#define MESHWRIGHT_TEST_LIB_VERIFYMUTANTS_DAMAGE_H

#include "package.pb.h"
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace meshwright::test {

/// A kind of mistake. `apply` makes one somewhere in the package; false where it found no place for it.
struct Damage {
  std::string name;
  std::function<bool(Package &, std::mt19937_64 &)> apply;
  /// No static check can find most of them: the package is one that computes something else.
  bool needsEvaluation = false;
};

std::vector<Damage> listDamages();

} // namespace meshwright::test

#endif
