//===- OffloadPackage.h - a package with two memories -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TEST_UNIT_CUDA_OFFLOADPACKAGE_H
#define MESHWRIGHT_TEST_UNIT_CUDA_OFFLOADPACKAGE_H

#include "package.pb.h"

namespace meshwright::test {

/// One rank. `m` is kept by the host: a step fetches it while it computes 2x, adds both, and writes the sum back while
/// it computes the output `y`, the same sum once more.
Package makeOffloadPackage();

} // namespace meshwright::test

#endif
