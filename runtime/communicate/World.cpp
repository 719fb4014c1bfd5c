//===- World.cpp - the processes of a run ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/World.h"
#include "meshwright/runtime/EscapeText.h"
#include <algorithm>
#include <cstring>

using namespace meshwright::runtime;

namespace {

/// A status as bytes: its code, then its message.
Bytes pack(const Status &status) {
  Bytes bytes(1 + status.message().size());
  bytes[0] = static_cast<std::byte>(status.code());
  std::memcpy(bytes.data() + 1, status.message().data(), status.message().size());
  return bytes;
}

Status unpack(const Bytes &bytes) {
  auto code = bytes.empty() ? Code::Fault : static_cast<Code>(bytes[0]);
  if (code == Code::Ok)
    return {};
  if (bytes.empty() || code > Code::Fault)
    return faultError("a process says of an error what no process says");
  return Status(code, escapeText({reinterpret_cast<const char *>(bytes.data()) + 1, bytes.size() - 1}));
}

} // namespace

Result<Bytes> World::share(Bytes bytes) {
  if (isAlone())
    return bytes;
  uint64_t size = bytes.size();
  MW_TRY(broadcast(std::as_writable_bytes(std::span(&size, 1))));
  // Memory grows with what comes, not with what is announced.
  for (uint64_t done = 0; done < size; done += kPieceBytes) {
    uint64_t piece = std::min(kPieceBytes, size - done);
    if (!isFirst())
      bytes.resize(done + piece);
    MW_TRY(broadcast(std::span(bytes).subspan(done, piece)));
  }
  bytes.resize(size);
  return bytes;
}

Result<std::vector<Bytes>> World::gatherForAll(std::span<const std::byte> mine) {
  MW_TRY_ASSIGN(std::vector<Bytes> all, gather(mine));
  std::vector<uint64_t> sizes(getNumProcesses());
  Bytes joined;
  for (size_t process = 0; process != all.size(); ++process) {
    sizes[process] = all[process].size();
    joined.insert(joined.end(), all[process].begin(), all[process].end());
  }
  MW_TRY(broadcast(std::as_writable_bytes(std::span(sizes))));
  MW_TRY_ASSIGN(joined, share(std::move(joined)));
  all.clear();
  auto begin = joined.begin();
  for (uint64_t size : sizes) {
    if (size > static_cast<uint64_t>(joined.end() - begin))
      return faultError("the first process says {} bytes of one process where {} are left", size, joined.end() - begin);
    auto end = begin + static_cast<ptrdiff_t>(size);
    all.emplace_back(begin, end);
    begin = end;
  }
  return all;
}

Status World::agree(const Status &mine) {
  if (isAlone())
    return mine;
  MW_TRY_ASSIGN(std::vector<Bytes> all, gatherForAll(pack(mine)));
  for (const Bytes &bytes : all)
    if (Status status = unpack(bytes); !status.ok()) {
      hasAgreed = true;
      return status;
    }
  return {};
}
