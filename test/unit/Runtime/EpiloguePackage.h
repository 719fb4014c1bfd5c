//===- EpiloguePackage.h - packages of products with epilogues --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TEST_UNIT_RUNTIME_EPILOGUEPACKAGE_H
#define MESHWRIGHT_TEST_UNIT_RUNTIME_EPILOGUEPACKAGE_H

#include "package.pb.h"

namespace meshwright::test {

/// One rank. With f(h) for the GELU of h, a step computes h = x·w + b, then k = h·w + b and f(k), and the output
/// f(f(k)·v + c). Each of these three products has an epilogue, the last one with an auxiliary matrix of four columns,
/// which cuBLASLt does not store.
Package makeEpiloguePackage();

} // namespace meshwright::test

#endif
