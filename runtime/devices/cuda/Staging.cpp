//===- Staging.cpp - between pageable memory and a GPU --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Staging.h"
#include <algorithm>
#include <cstring>

using namespace meshwright::runtime;
using namespace meshwright::runtime::cuda;

Status PinnedMemory::allocate(const CudaApi &driver, uint64_t bytes) {
  if (bytes == 0)
    return {};
  api = &driver;
  Status status = driver.check(driver.cuMemHostAlloc(&address, bytes, CU_MEMHOSTALLOC_PORTABLE), "cuMemHostAlloc");
  return status.within(fmt::format("{} bytes of the host's memory cannot be had", bytes));
}

Status Staging::create(const CudaApi &driver, uint64_t bytes) {
  api = &driver;
  halfBytes = std::max(halfBytes, (bytes + 63) / 64 * 64);
  for (Half &half : halves) {
    MW_TRY(half.memory.allocate(driver, halfBytes));
    MW_TRY_ASSIGN(half.event, createEvent(driver));
  }
  return {};
}

Result<Staging::Piece> Staging::reserve(uint64_t bytes) {
  if (halves[current].used == halfBytes) {
    current ^= 1;
    if (halves[current].used != 0)
      MW_CALL(*api, cuEventSynchronize, halves[current].event.get());
    halves[current].used = 0;
  }
  Half &half = halves[current];
  Piece piece{&half, half.memory.data() + half.used, std::min(bytes, halfBytes - half.used)};
  half.used = std::min((half.used + piece.bytes + 63) / 64 * 64, halfBytes);
  return piece;
}

Status Staging::upload(CUdeviceptr to, std::span<const std::byte> from, CUstream stream) {
  std::lock_guard held(mutex);
  while (!from.empty()) {
    MW_TRY_ASSIGN(Piece piece, reserve(from.size()));
    std::memcpy(piece.data, from.data(), piece.bytes);
    MW_CALL(*api, cuMemcpyHtoDAsync, to, piece.data, piece.bytes, stream);
    MW_CALL(*api, cuEventRecord, piece.half->event.get(), stream);
    from = from.subspan(piece.bytes);
    to += piece.bytes;
  }
  return {};
}

Status Staging::download(std::span<std::byte> to, CUdeviceptr from, CUstream stream) {
  std::lock_guard held(mutex);
  // While one piece travels the host copies the one before.
  Piece before;
  std::byte *target = to.data();
  auto finish = [&](const Piece &piece) -> Status {
    if (piece.bytes == 0)
      return {};
    MW_CALL(*api, cuEventSynchronize, piece.half->event.get());
    std::memcpy(target, piece.data, piece.bytes);
    target += piece.bytes;
    return {};
  };
  while (!to.empty()) {
    MW_TRY_ASSIGN(Piece piece, reserve(to.size()));
    MW_CALL(*api, cuMemcpyDtoHAsync, piece.data, from, piece.bytes, stream);
    MW_CALL(*api, cuEventRecord, piece.half->event.get(), stream);
    MW_TRY(finish(before));
    before = piece;
    to = to.subspan(piece.bytes);
    from += piece.bytes;
  }
  return finish(before);
}
