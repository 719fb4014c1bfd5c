//===- Fuzz.h - interface of a fuzz target ----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TEST_FUZZ_FUZZ_H
#define MESHWRIGHT_TEST_FUZZ_FUZZ_H

#include <cstddef>
#include <cstdint>

/// Reads a file of these bytes. Called by libFuzzer, or by Replay.cpp where the build has none.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
