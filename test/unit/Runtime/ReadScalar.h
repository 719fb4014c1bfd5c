//===- ReadScalar.h - one scalar of a session -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TEST_UNIT_RUNTIME_READSCALAR_H
#define MESHWRIGHT_TEST_UNIT_RUNTIME_READSCALAR_H

#include "meshwright/runtime/SerialCheck.h"

namespace meshwright::test {

/// The scalar output or variable of that name, if the last step said it.
inline std::optional<double> readScalar(const runtime::Session &session, const std::string &name) {
  auto values = runtime::readScalars(session, std::span(&name, 1));
  return values.ok() ? values->front() : std::nullopt;
}

} // namespace meshwright::test

#endif
