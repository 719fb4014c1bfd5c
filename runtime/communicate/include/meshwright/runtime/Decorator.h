//===- Decorator.h - communicators around communicators ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks, records and faults of collectives stand between a rank and its communicator, whatever the backend is.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_DECORATOR_H
#define MESHWRIGHT_RUNTIME_DECORATOR_H

#include "meshwright/runtime/World.h"
#include <functional>

namespace meshwright::runtime {

/// Passes everything on to another communicator, which outlives it.
class CommunicatorDecorator : public Communicator {
public:
  explicit CommunicatorDecorator(Communicator &inner) : inner(inner) {}

  Result<uint32_t> prepare(CollectiveCall call) override { return inner.prepare(std::move(call)); }
  Status connect() override { return inner.connect(); }
  Status execute(uint32_t number) override { return inner.execute(number); }
  Status start(uint32_t number) override { return inner.start(number); }
  Status wait(uint32_t number) override { return inner.wait(number); }
  void finishStep(const Status &status) override { inner.finishStep(status); }
  double getCpuSeconds(uint32_t number) const override { return inner.getCpuSeconds(number); }
  void setTrace(std::vector<TimeRange> *times) override { inner.setTrace(times); }

protected:
  Communicator &inner;
};

/// Makes what stands between a rank and its communicator.
using WrapCommunicator = std::function<std::unique_ptr<Communicator>(Communicator &inner, int64_t rank)>;

/// A backend whose communicators are wrapped.
class BackendDecorator : public Backend {
public:
  BackendDecorator(std::unique_ptr<Backend> made, const WrapCommunicator &wrap) : inner(std::move(made)) {
    for (int64_t rank = inner->getRanks().begin; rank != inner->getRanks().end; ++rank)
      communicators.push_back(wrap(inner->getCommunicator(rank), rank));
  }

  RankRange getRanks() const override { return inner->getRanks(); }
  Communicator &getCommunicator(int64_t rank) override { return *communicators[rank - getRanks().begin]; }
  void beginStep() override { inner->beginStep(); }
  void setProfiling(bool on) override { inner->setProfiling(on); }

protected:
  std::unique_ptr<Backend> inner;
  std::vector<std::unique_ptr<Communicator>> communicators;
};

/// A world whose backends are changed by `change` when they are made.
class WorldDecorator : public World {
public:
  using Change = std::function<Result<std::unique_ptr<Backend>>(std::unique_ptr<Backend>, const BackendOptions &)>;
  WorldDecorator(World &inner, Change change) : inner(inner), change(std::move(change)) {}

  std::string_view getName() const override { return inner.getName(); }
  int64_t getProcess() const override { return inner.getProcess(); }
  int64_t getNumProcesses() const override { return inner.getNumProcesses(); }
  int64_t getNumProcessesOfHost() const override { return inner.getNumProcessesOfHost(); }
  Result<std::unique_ptr<Backend>> createBackend(const BackendOptions &options) override {
    MW_TRY_ASSIGN(std::unique_ptr<Backend> backend, inner.createBackend(options));
    return change(std::move(backend), options);
  }
  Result<std::unique_ptr<Backend>> decorate(std::unique_ptr<Backend> backend, const BackendOptions &options) override {
    MW_TRY_ASSIGN(std::unique_ptr<Backend> decorated, inner.decorate(std::move(backend), options));
    return change(std::move(decorated), options);
  }
  Status confirm(std::span<const std::byte> agreed) override { return inner.confirm(agreed); }
  std::optional<FailedProcess> getFailedProcess() const override { return inner.getFailedProcess(); }
  Result<std::vector<Bytes>> gather(std::span<const std::byte> mine) override { return inner.gather(mine); }
  Status broadcast(std::span<std::byte> bytes) override { return inner.broadcast(bytes); }
  void abort(const Status &status) override { inner.abort(status); }
  void setLastWords(std::function<void(const Status &)> say) override { inner.setLastWords(std::move(say)); }

private:
  World &inner;
  Change change;
};

} // namespace meshwright::runtime

#endif
