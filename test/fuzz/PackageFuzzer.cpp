//===- PackageFuzzer.cpp - any bytes as a package -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fuzz.h"
#include "meshwright/runtime/Package.h"
#include <google/protobuf/stubs/logging.h>

using namespace meshwright::runtime;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  google::protobuf::LogSilencer silencer;
  meshwright::Package message;
  if (message.ParseFromArray(data, static_cast<int>(size)))
    (void)LoadedPackage::create(std::move(message), ".", std::nullopt);
  return 0;
}
