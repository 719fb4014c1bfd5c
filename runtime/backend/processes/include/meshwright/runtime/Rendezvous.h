//===- Rendezvous.h - how processes find each other -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_RENDEZVOUS_H
#define MESHWRIGHT_RUNTIME_RENDEZVOUS_H

#include "meshwright/runtime/Status.h"
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace meshwright::runtime::processes {

/// The information that the launcher of a run gives each process.
struct Rendezvous {
  int process = 0, numProcesses = 1;
  /// Where the first process listens.
  std::string host = "127.0.0.1";
  uint16_t port = 0;
  /// A socket of the first process that listens already; -1 where it opens one at the port.
  int listener = -1;
  /// The secret of the run; `isPublic` where it is a name that others may know, or nothing.
  std::string token;
  bool isPublic = false;
};

/// The token of a file: its bytes without white space at its end. Too short a token is an error: tokens can be
/// guessed at leisure from a recorded greeting.
Result<std::string> readToken(const std::string &path);
/// The token that a user has set, with where it comes from for errors.
Result<std::string> checkToken(std::string token, const std::string &source);

/// A host and a port: `node-7:29500`, `[::1]:29500`.
struct HostAndPort {
  std::string host;
  uint16_t port = 0;

  static Result<HostAndPort> parse(const std::string &text);
};

// Names of what the launcher sets.
inline constexpr const char *kProcessVariable = "MESHWRIGHT_PROCESS";
inline constexpr const char *kProcessesVariable = "MESHWRIGHT_PROCESSES";
inline constexpr const char *kRendezvousVariable = "MESHWRIGHT_RENDEZVOUS";
inline constexpr const char *kListenerVariable = "MESHWRIGHT_LISTENER";
inline constexpr const char *kTokenVariable = "MESHWRIGHT_TOKEN";

/// Looks a variable of the environment up; null where there is none.
using Environment = std::function<const char *(const char *name)>;

/// Settings from the environment, if it has any: of dist-run's launcher, torchrun (RANK, WORLD_SIZE, MASTER_ADDR,
/// MASTER_PORT) or Slurm's srun (SLURM_PROCID, SLURM_NTASKS, SLURM_STEP_NODELIST, SLURM_JOB_ID), in that order. What is
/// there but wrong is an error.
Result<std::optional<Rendezvous>> findRendezvous(const Environment &environment);

/// The first host of Slurm's short form: `gpu[03-05,9],login1` begins with `gpu03`.
std::string getFirstHost(const std::string &nodes);

} // namespace meshwright::runtime::processes

#endif
