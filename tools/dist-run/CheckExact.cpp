//===- CheckExact.cpp - dist-run --check-exact ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CheckExact.h"
#include "meshwright/runtime/ExactCheck.h"
#include <fmt/core.h>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::tool;

/// Checks the steps of a package, which `name` calls: `step`.
static Status checkSteps(const LoadedPackage &package, const LoadedPackage &reference, const SessionOptions &session,
                         const Options &options, const std::string &feed, const std::vector<DataSource> &data,
                         const char *name) {
  MW_TRY_ASSIGN(std::unique_ptr<ExactCheck> check, ExactCheck::create(package, reference, session, options.seed));
  std::optional<Feeder> feeder;
  if (!feed.empty() || !data.empty()) {
    MW_TRY_ASSIGN(feeder, Feeder::create(package, feed, data, /*needsAll=*/false));
  }
  uint64_t accumulated = package.getAccumulationSteps();
  uint64_t steps = options.exactSteps == 0 ? std::max<uint64_t>(accumulated, 2) : options.exactSteps;
  for (uint64_t step = 0; step != steps; ++step) {
    if (feeder)
      MW_TRY(feeder->load(step));
    MW_TRY_ASSIGN(ExactReport report, check->step(feeder ? &*feeder : nullptr));
    // A message of another process has one line.
    std::string line = fmt::format("{} {}: {}", name, step, report.toString(session.world->isAlone() ? "\n  " : "; "));
    MW_TRY(session.world->agree(report.differences.empty() ? Status() : Status(Code::CheckFailed, line)));
    if (!options.quiet && session.world->isFirst())
      fmt::print("{}\n", line);
  }
  return {};
}

Status meshwright::tool::checkExact(const LoadedPackage &package, World &world, const Options &options) {
  if (options.device != getDeviceKinds().front())
    return usageError("--check-exact is for ranks on CPUs");
  SessionOptions session;
  session.world = &world;
  session.platform = options.getPlatformOptions();
  session.timeoutSeconds = options.timeout;
  session.checkCollectives = options.checkCollectives;
  std::optional<LoadedPackage> other;
  if (!options.exactReference.empty()) {
    MW_TRY_ASSIGN(other, LoadedPackage::open(options.exactReference));
  }
  const LoadedPackage &reference = other ? *other : package;
  MW_TRY(checkSteps(package, reference, session, options, options.feed, options.data, "step"));
  if (!package.getEvaluation() || !reference.getEvaluation())
    return {};
  return checkSteps(*package.getEvaluation(), *reference.getEvaluation(), session, options, options.evalFeed,
                    options.evalData, "evaluation");
}
