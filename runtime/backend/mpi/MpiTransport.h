//===- MpiTransport.h - messages of MPI -------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_BACKEND_MPI_MPITRANSPORT_H
#define MESHWRIGHT_RUNTIME_BACKEND_MPI_MPITRANSPORT_H

#include "MpiFunctions.h"
#include "meshwright/runtime/Transport.h"
#include <mutex>

namespace meshwright::runtime::mpi {

/// The plugin, opened; an error says which file is missing.
Result<MwMpiFunctions> openPlugin();

/// Messages of MPI, which the plugin reaches.
class MpiTransport : public processes::Transport {
public:
  static Result<std::unique_ptr<MpiTransport>> create();

  std::string_view getName() const override { return "mpi"; }
  Status describeMismatch(int64_t ranks) const override;
  int getProcess() const override { return process.process; }
  int getNumProcesses() const override { return process.numProcesses; }
  int getNumLocal() const override { return process.numLocal; }
  int getTag(uint64_t number) const override;
  Status post(processes::Message &message, int tag) override;
  Result<bool> test(processes::Message &message) override;
  Result<std::optional<int>> probe(int peer) override;
  void finalize() override;

private:
  MpiTransport(const MwMpiFunctions &functions, const MwMpiProcess &process);
  Status makeError(const char *what, int peer, int error);

  MwMpiFunctions functions;
  MwMpiProcess process;
  /// MPI is entered by one thread at a time.
  std::mutex mutex;
};

} // namespace meshwright::runtime::mpi

#endif
