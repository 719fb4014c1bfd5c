//===- Staging.h - between pageable memory and a GPU ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_DEVICES_CUDA_STAGING_H
#define MESHWRIGHT_RUNTIME_DEVICES_CUDA_STAGING_H

#include "CudaApi.h"
#include <array>
#include <mutex>

namespace meshwright::runtime::cuda {

/// Memory of the host that a driver has given, and that its GPUs copy from and to beside all else.
class PinnedMemory {
public:
  PinnedMemory() = default;
  PinnedMemory(const PinnedMemory &) = delete;
  PinnedMemory &operator=(const PinnedMemory &) = delete;
  ~PinnedMemory() {
    if (address)
      (void)api->cuMemFreeHost(address);
  }
  /// Allocates, once; nothing for no bytes.
  Status allocate(const CudaApi &driver, uint64_t bytes);
  std::byte *data() const { return static_cast<std::byte *>(address); }

private:
  const CudaApi *api = nullptr;
  void *address = nullptr;
};

/// Carries bytes of any length between the host and a device through two halves of pinned memory. Pieces fill one half
/// after the other; before a half is filled again what was in it has arrived.
///
/// `upload` returns when the host's bytes are its own again; they arrive when the stream has come to it. As long as
/// less than a half is under way it waits for nothing.
class Staging {
public:
  /// A half has room for at least so many bytes.
  Status create(const CudaApi &driver, uint64_t bytes);
  Status upload(CUdeviceptr to, std::span<const std::byte> from, CUstream stream);
  Status download(std::span<std::byte> to, CUdeviceptr from, CUstream stream);

private:
  struct Half {
    PinnedMemory memory;
    Event event; // recorded after the last piece
    uint64_t used = 0;
  };
  struct Piece {
    Half *half = nullptr;
    std::byte *data = nullptr;
    uint64_t bytes = 0;
  };
  /// A place for at most so many bytes.
  Result<Piece> reserve(uint64_t bytes);

  const CudaApi *api = nullptr;
  uint64_t halfBytes = uint64_t(4) << 20;
  std::array<Half, 2> halves;
  size_t current = 0;
  std::mutex mutex;
};

} // namespace meshwright::runtime::cuda

#endif
