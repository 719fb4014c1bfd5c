//===- NpyFuzzer.cpp - any bytes as a .npy file ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fuzz.h"
#include "meshwright/runtime/Npy.h"

using namespace meshwright::runtime;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  (void)readNpy(std::as_bytes(std::span(data, size)));
  return 0;
}
