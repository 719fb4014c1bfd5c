//===- World.cpp - the processes of a run ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/World.h"
#include <cstring>

using namespace meshwright::runtime;

namespace {

class LocalWorld : public World {
public:
  std::string_view getName() const override { return "inproc"; }
  int64_t getProcess() const override { return 0; }
  int64_t getNumProcesses() const override { return 1; }
  Result<std::unique_ptr<Backend>> createBackend(const BackendOptions &options) override {
    return createInprocBackend(options.numRanks, options.link);
  }
  Result<std::vector<Bytes>> gather(std::span<const std::byte> mine) override {
    return std::vector<Bytes>{Bytes(mine.begin(), mine.end())};
  }
  Status broadcast(std::span<std::byte>) override { return {}; }
  void abort(const Status &) override {}
};

/// A status as bytes: its code, then its message.
Bytes pack(const Status &status) {
  Bytes bytes(1 + status.message().size());
  bytes[0] = static_cast<std::byte>(status.code());
  std::memcpy(bytes.data() + 1, status.message().data(), status.message().size());
  return bytes;
}

Status unpack(const Bytes &bytes) {
  if (bytes.empty() || static_cast<Code>(bytes[0]) == Code::Ok)
    return {};
  return Status(static_cast<Code>(bytes[0]),
                std::string(reinterpret_cast<const char *>(bytes.data()) + 1, bytes.size() - 1));
}

} // namespace

Status World::agree(const Status &mine) {
  if (getNumProcesses() == 1)
    return mine;
  MW_TRY_ASSIGN(std::vector<Bytes> all, gather(pack(mine)));
  Status first;
  for (const Bytes &bytes : all)
    if (first.ok())
      first = unpack(bytes);
  Bytes message = pack(first);
  uint64_t size = message.size();
  MW_TRY(broadcast(std::as_writable_bytes(std::span(&size, 1))));
  message.resize(size);
  MW_TRY(broadcast(message));
  return unpack(message);
}

std::unique_ptr<World> meshwright::runtime::createLocalWorld() { return std::make_unique<LocalWorld>(); }
