//===- LocalWorld.cpp - the world of a process that is alone --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/Inproc.h"

using namespace meshwright::runtime;

namespace {

class LocalWorld : public World {
public:
  std::string_view getName() const override { return "inproc"; }
  int64_t getProcess() const override { return 0; }
  int64_t getNumProcesses() const override { return 1; }
  Result<std::unique_ptr<Backend>> createBackend(const BackendOptions &options) override {
    return createInprocBackend(options.numRanks, options.link, options.timeoutSeconds);
  }
  Result<std::vector<Bytes>> gather(std::span<const std::byte> mine) override {
    return std::vector<Bytes>{Bytes(mine.begin(), mine.end())};
  }
  Status broadcast(std::span<std::byte>) override { return {}; }
  void abort(const Status &) override {}
};

} // namespace

const WorldKind meshwright::runtime::inprocKind = {
    "inproc", "threads of one process", false,
    [](const WorldOptions &) -> Result<std::unique_ptr<World>> { return createLocalWorld(); }};

std::unique_ptr<World> meshwright::runtime::createLocalWorld() { return std::make_unique<LocalWorld>(); }
