//===- DynamicLibrary.h - libraries opened when asked for -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nothing here is linked with NVIDIA's libraries: a table of functions is filled from what the machine has. The same
// build runs where there is none, and a test may put another library in the place of one.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_DEVICES_CUDA_DYNAMICLIBRARY_H
#define MESHWRIGHT_RUNTIME_DEVICES_CUDA_DYNAMICLIBRARY_H

#include "meshwright/runtime/Status.h"
#include <memory>
#include <span>

namespace meshwright::runtime::cuda {

/// A library that stays open as long as this does.
class DynamicLibrary {
public:
  /// Opens what the environment variable names or else the first of `names` that there is. The error has the loader's
  /// reason for each.
  static Result<DynamicLibrary> open(const char *variable, std::span<const char *const> names);

  /// The function of that name. The error has the library's path, and `version` of it where that is known.
  template <typename Function>
  Status find(Function *&function, const char *name, const std::string &version = "") const {
    MW_TRY_ASSIGN(void *address, findAddress(name, version));
    function = reinterpret_cast<Function *>(address);
    return {};
  }

private:
  Result<void *> findAddress(const char *name, const std::string &version) const;

  std::shared_ptr<void> handle;
  std::string path;
};

} // namespace meshwright::runtime::cuda

#endif
