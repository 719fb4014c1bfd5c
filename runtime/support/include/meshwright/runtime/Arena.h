//===- Arena.h - one large piece of memory ----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_ARENA_H
#define MESHWRIGHT_RUNTIME_ARENA_H

#include "meshwright/runtime/Status.h"
#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <sys/mman.h>

namespace meshwright::runtime {

/// So many bytes and those to the next line of the cache.
constexpr uint64_t alignToLine(uint64_t bytes) { return (bytes + 63) / 64 * 64; }

/// Memory from the system, zero at first, in large pages where it can be. What is never touched is never there.
class Arena {
public:
  Arena() = default;
  Arena(const Arena &) = delete;
  Arena &operator=(const Arena &) = delete;
  ~Arena() {
    if (address)
      munmap(address, length);
  }

  /// Allocates, once; an error says how much was wanted.
  Status allocate(uint64_t bytes) {
    constexpr uint64_t page = 1 << 21;
    // Sizes beyond what addresses can reach would wrap when they are rounded.
    uint64_t rounded = bytes > (uint64_t(1) << 47) ? bytes : std::max<uint64_t>((bytes + 4095) / 4096 * 4096, 4096);
    void *result = mmap(nullptr, rounded, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (result == MAP_FAILED)
      return faultError("{} bytes of memory cannot be had: {}", bytes, std::strerror(errno));
    address = result;
    length = rounded;
    if (rounded >= page)
      madvise(address, length, MADV_HUGEPAGE);
    return {};
  }

  std::byte *data() const { return static_cast<std::byte *>(address); }
  uint64_t size() const { return length; }

private:
  void *address = nullptr;
  uint64_t length = 0;
};

} // namespace meshwright::runtime

#endif
