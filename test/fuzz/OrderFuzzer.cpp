//===- OrderFuzzer.cpp - any bytes as an order of tasks -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fuzz.h"
#include "meshwright/Orders/TaskOrder.h"

using namespace meshwright;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  auto order = schedule::readCsv(llvm::StringRef(reinterpret_cast<const char *>(data), size));
  if (!order)
    llvm::consumeError(order.takeError());
  return 0;
}
