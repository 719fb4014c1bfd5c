//===- ProcessWorld.h - a rank for each process -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every process has one rank, which is its number. Data moves by messages of a transport, whose tags say what they are
// of; beside it a lifeline says who is alive.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_BACKEND_PROCESSES_PROCESSWORLD_H
#define MESHWRIGHT_RUNTIME_BACKEND_PROCESSES_PROCESSWORLD_H

#include "ProcessCommunicator.h"
#include "meshwright/runtime/ProcessWorlds.h"

namespace meshwright::runtime::processes {

class ProcessWorld : public World {
public:
  /// See createProcessWorld.
  static Result<std::unique_ptr<World>> create(std::unique_ptr<Transport> transport, std::vector<Socket> sockets,
                                               std::optional<Digest> key);
  ~ProcessWorld() override;

  std::string_view getName() const override { return transport->getName(); }
  int64_t getProcess() const override { return transport->getProcess(); }
  int64_t getNumProcesses() const override { return transport->getNumProcesses(); }
  int64_t getNumProcessesOfHost() const override { return transport->getNumLocal(); }
  Result<std::unique_ptr<Backend>> createBackend(const BackendOptions &options) override;
  Result<std::vector<Bytes>> gather(std::span<const std::byte> mine) override;
  Status broadcast(std::span<std::byte> bytes) override;
  Status confirm(std::span<const std::byte> agreed) override;
  std::optional<FailedProcess> getFailedProcess() const override { return lifeline->getFailedProcess(); }
  void abort(const Status &status) override { lifeline->fail(status); }
  void setLastWords(std::function<void(const Status &)> say) override { lifeline->setLastWords(std::move(say)); }

private:
  ProcessWorld(std::unique_ptr<Transport> transport, std::unique_ptr<Lifeline> lifeline);
  Status exchange(std::vector<Message> messages);

  std::unique_ptr<Transport> transport;
  std::unique_ptr<Lifeline> lifeline;
  std::unique_ptr<Post> post;
  std::optional<Digest> key;
  uint64_t numBackends = 0, numConfirmed = 0;
};

} // namespace meshwright::runtime::processes

#endif
