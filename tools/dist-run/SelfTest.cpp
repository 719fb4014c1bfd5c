//===- SelfTest.cpp - dist-run --self-test --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SelfTest.h"
#include "meshwright/runtime/SelfTest.h"
#include <fmt/core.h>
#include <unistd.h>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::tool;

Status meshwright::tool::runSelfTest(World &world, const Options &options) {
  SelfTestOptions test;
  test.all = options.selfTestAll;
  test.numRanks = static_cast<int64_t>(options.ranks);
  test.device = options.device;
  // Nothing is computed, so of what devices are asked for only these two matter.
  test.platform.backend = options.getPlatformOptions().backend;
  test.platform.timeoutSeconds = options.timeout;
  test.backend.timeoutSeconds = options.timeout;
  test.backend.checkCollectives = options.checkCollectives;
  const DeviceBackend *backend = options.getDeviceBackend();
  bool isShown = world.isFirst() && !options.quiet && isatty(STDERR_FILENO);
  if (isShown)
    test.progress = [](uint64_t done, uint64_t total) {
      fmt::print(stderr, "\r\x1b[K{} of {} cases", done, total);
      std::fflush(stderr);
    };
  auto report = runtime::runSelfTest(world, test);
  if (isShown)
    std::fputs("\r\x1b[K", stderr);
  MW_TRY(report.status().within("self-test"));
  if (world.isFirst() && !options.quiet && !report->timings.empty())
    fmt::print("{} ranks over {}, f32:\n{}nearest to --link={}\n", report->numRanks,
               backend ? backend->name : world.getName(), report->formatTimings(), report->fitLink().toString());
  if (world.isFirst() && !options.quiet && report->verdict.ok())
    fmt::print("self-test: {} cases, every element as it should be\n", report->cases);
  return report->verdict.within(fmt::format("self-test: {} wrong elements in {} cases", report->wrong, report->cases));
}
