//===- DynamicLibrary.cpp - libraries opened when asked for ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DynamicLibrary.h"
#include <cstdlib>
#include <dlfcn.h>

using namespace meshwright::runtime;
using namespace meshwright::runtime::cuda;

Result<DynamicLibrary> DynamicLibrary::open(const char *variable, std::span<const char *const> names) {
  const char *chosen = std::getenv(variable);
  if (chosen)
    names = std::span(&chosen, 1);
  std::string reasons;
  for (const char *name : names) {
    if (void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL)) {
      DynamicLibrary library;
      library.handle = std::shared_ptr<void>(handle, [](void *opened) { dlclose(opened); });
      library.path = name;
      return library;
    }
    reasons += (reasons.empty() ? "" : "; ") + std::string(dlerror());
  }
  return faultError("{} cannot be opened{}: {}", names.front(), chosen ? fmt::format(" (named by {})", variable) : "",
                    reasons);
}

Result<void *> DynamicLibrary::findAddress(const char *name, const std::string &version) const {
  if (void *address = dlsym(handle.get(), name))
    return address;
  return faultError("{}{} has no function {}", path, version.empty() ? "" : fmt::format(" of version {}", version),
                    name);
}
