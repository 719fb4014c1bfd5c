//===- Options.h - the command line of dist-run -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TOOLS_DISTRUN_OPTIONS_H
#define MESHWRIGHT_TOOLS_DISTRUN_OPTIONS_H

#include "meshwright/runtime/Catalog.h"
#include "meshwright/runtime/Faults.h"
#include "meshwright/runtime/Feeder.h"

namespace meshwright::tool {

/// Options of the command line; the help text documents each.
struct Options {
  std::string package;
  /// The command line as a whole.
  std::string command;
  /// By what the ranks reach each other: a backend's name; empty where the command line does not say.
  std::string comm;
  /// The world of the processes. Where `comm` is a backend of the devices alone, ranks are of one process.
  const runtime::WorldKind &getWorldKind() const;
  /// The backend that the devices bring for the ranks; null where they use that of the world.
  const runtime::DeviceBackend *getDeviceBackend() const;
  /// The number of processes that this one starts on its host, 0 if it is one of them itself; the number of hosts, the
  /// number of this host, and the address at which the first process listens.
  uint64_t nproc = 0, nnodes = 1, nodeRank = 0;
  std::string rendezvous, tokenFile;
  std::string init, feed, metrics, outputs, save, kernels, timeline, trace, profile, report, checkpoint, resumeFrom;
  /// The type that floats of `save` are rounded to.
  std::optional<DType> saveType;
  /// The model of a machine: where it is measured and written, and from where steps are planned.
  std::string calibrate, machine;
  std::vector<runtime::DataSource> data;
  /// The data of evaluations, the number of batches, and the steps between evaluations: 0 means never, nothing means as
  /// the package says.
  std::string evalFeed;
  std::vector<runtime::DataSource> evalData;
  uint64_t evalSteps = 1;
  std::optional<uint64_t> evalEvery;
  std::optional<runtime::LinkModel> link, hostLink;
  uint64_t steps = 1, seed = 0, checkEvery = 1, threads = 0;
  /// The last steps of the run, if a trace or a profile is asked for.
  uint64_t tracedSteps = 3;
  bool tracesSteps() const { return !trace.empty() || !profile.empty(); }
  /// 0: only after the last step.
  uint64_t saveEvery = 0, keep = 3;
  /// From the newest checkpoint of `checkpoint`, or from that of `resumeFrom`.
  bool resume = false;
  /// Pass over checkpoints that are damaged.
  bool resumeIntact = false;
  /// Instead of a package: check the collectives, between so many ranks (0: of several numbers).
  bool selfTest = false, selfTestAll = false;
  uint64_t ranks = 0;
  /// On which the ranks compute.
  const runtime::DeviceKind *device = runtime::getDeviceKinds().front();
  bool tf32 = false, noGraph = false;
  /// The options that devices take.
  runtime::PlatformOptions getPlatformOptions() const;
  std::vector<runtime::InjectedFault> faults;
  std::string flightRecorder = "flight";
  double timeout = 600;
  /// The reaction to a loss, gradient or variable that is not finite: `stop`, `warn`, `skip`; empty for a warning and
  /// an end of the run after some such steps in a row.
  std::string onNonFinite;
  /// Instead of training: compare so many steps with the serial program in exact arithmetic (0: those of an
  /// accumulation, and at least two).
  bool checkExact = false;
  uint64_t exactSteps = 0;
  /// The package with the serial program, if another one has it.
  std::string exactReference;
  /// 0: never.
  uint64_t checkReplicas = 0;
  bool checkCollectives = false, checkMessages = false, mixedKernels = false;
  bool serial = false, checkSerial = false, checkApart = false, show = false, quiet = false, help = false, version = false;
};

/// Parses the command line. Errors are of wrong usage.
runtime::Result<Options> parseOptions(int argc, const char *const *argv);
/// The text of --help.
std::string getHelp();
/// The text of --version: the versions of all parts and the backends that are built in.
std::string getVersions();

} // namespace meshwright::tool

#endif
