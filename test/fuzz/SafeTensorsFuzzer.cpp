//===- SafeTensorsFuzzer.cpp - any bytes as a safetensors file ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fuzz.h"
#include "meshwright/runtime/SafeTensors.h"
#include <sys/mman.h>
#include <unistd.h>

using namespace meshwright::runtime;

/// All bytes of all tensors, so that each is read.
static unsigned addBytes(const SafeTensors &file) {
  unsigned sum = 0;
  for (const auto &[name, tensor] : file.tensors())
    for (std::byte byte : tensor.bytes)
      sum += static_cast<unsigned>(byte);
  return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  int descriptor = memfd_create("safetensors", MFD_CLOEXEC);
  if (descriptor < 0 || write(descriptor, data, size) != static_cast<ssize_t>(size))
    return 0;
  auto file = SafeTensors::open("/proc/self/fd/" + std::to_string(descriptor));
  // So that the bytes are read.
  [[maybe_unused]] static volatile unsigned sum;
  if (file.ok())
    sum = addBytes(*file);
  close(descriptor);
  return 0;
}
