//===- Allocations.cpp - how often memory is asked for --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Replaces the global operator new of this process by one that counts.
//
//===----------------------------------------------------------------------===//

#include "Allocations.h"
#include <cstdlib>
#include <new>

static thread_local uint64_t allocations = 0;

uint64_t meshwright::tool::countAllocations() { return allocations; }

#ifndef __has_feature
#define __has_feature(feature) 0
#endif
// Sanitizers bring operators of their own: nothing is counted with them.
#if !__has_feature(thread_sanitizer) && !__has_feature(address_sanitizer)

void *operator new(std::size_t size) {
  ++allocations;
  if (void *result = std::malloc(size ? size : 1))
    return result;
  throw std::bad_alloc();
}

void *operator new(std::size_t size, std::align_val_t alignment) {
  ++allocations;
  std::size_t align = static_cast<std::size_t>(alignment);
  if (void *result = std::aligned_alloc(align, (size + align - 1) / align * align))
    return result;
  throw std::bad_alloc();
}

void operator delete(void *address) noexcept { std::free(address); }
void operator delete(void *address, std::size_t) noexcept { std::free(address); }
void operator delete(void *address, std::align_val_t) noexcept { std::free(address); }
void operator delete(void *address, std::size_t, std::align_val_t) noexcept { std::free(address); }

#endif
