//===- WindowLists.h - windows as operations write them ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TEST_LIB_OPERATIONS_WINDOWLISTS_H
#define MESHWRIGHT_TEST_LIB_OPERATIONS_WINDOWLISTS_H

#include "dialects/Net/Window.h"
#include <vector>

namespace meshwright::test {

/// The lists that operations with windows have, an entry for each window.
struct WindowLists {
  std::vector<int64_t> sizes, strides, low, high, base, window;

  void add(const net::WindowDim &dim) {
    sizes.push_back(dim.size);
    strides.push_back(dim.stride);
    low.push_back(dim.low);
    high.push_back(dim.high);
    base.push_back(dim.baseDilation);
    window.push_back(dim.windowDilation);
  }
};

} // namespace meshwright::test

#endif
