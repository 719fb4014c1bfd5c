//===- Options.h - the command line of dist-schedule ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TOOLS_DIST_SCHEDULE_OPTIONS_H
#define MESHWRIGHT_TOOLS_DIST_SCHEDULE_OPTIONS_H

#include "meshwright/Orders/TaskOrder.h"

namespace meshwright::tool {

struct ScheduleOptions {
  /// The name of a published order or a file's.
  std::string input;
  schedule::OrderShape shape{4, 8, 1, 0};
  schedule::TaskTimes times;
  /// The file for the order as CSV; empty for none.
  std::string csv;
  bool help = false, version = false;
};

llvm::Expected<ScheduleOptions> parseOptions(int argc, const char *const *argv);
std::string getHelp();

} // namespace meshwright::tool

#endif
