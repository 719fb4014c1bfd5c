//===- dist-schedule.cpp - draws, checks and converts orders of tasks -----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Options.h"
#include "meshwright/Support/Files.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/ToolOutputFile.h"
#include "llvm/Support/raw_ostream.h"

using namespace meshwright;
using namespace meshwright::schedule;
using namespace meshwright::tool;

static llvm::Error fail(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

static llvm::Expected<TaskOrder> readOrder(const ScheduleOptions &options) {
  if (std::optional<OrderKind> kind = findOrderKind(options.input))
    return makeOrder(*kind, options.shape);
  auto buffer = readText(options.input);
  if (!buffer)
    return fail("\"" + options.input + "\" is no order that is known (dist-schedule --help lists them) and cannot be " +
                "read: " + llvm::toString(buffer.takeError()));
  llvm::Expected<TaskOrder> order = readCsv((*buffer)->getBuffer());
  if (!order)
    return fail(options.input + ": " + llvm::toString(order.takeError()));
  return order;
}

static void describe(const TaskOrder &order, const TaskTimes &times, llvm::raw_ostream &out) {
  Execution execution = simulate(order, times);
  draw(order, execution, times, out);
  out << llvm::format("makespan %g, bubble %.4f of what is computed\n", execution.makespan, execution.getBubble());
  out << "micro-batches kept for backward, per rank:";
  for (int64_t count : execution.inFlight)
    out << " " << count;
  out << "\n";
}

static llvm::Error run(const ScheduleOptions &options) {
  llvm::Expected<TaskOrder> order = readOrder(options);
  if (!order)
    return order.takeError();
  if (llvm::Error error = check(*order))
    return fail(options.input + ": " + llvm::toString(std::move(error)));
  if (options.csv != "-")
    describe(*order, options.times, llvm::outs());
  if (options.csv.empty())
    return llvm::Error::success();
  std::error_code error;
  llvm::ToolOutputFile file(options.csv, error, llvm::sys::fs::OF_Text);
  if (!error) {
    writeCsv(*order, file.os());
    file.os().flush();
    error = file.os().error();
    file.os().clear_error();
  }
  if (error)
    return fail("cannot write \"" + options.csv + "\": " + error.message());
  file.keep();
  return llvm::Error::success();
}

/// Prints what went wrong; the exit code for it.
static int report(llvm::Error error, int code) {
  if (!error)
    return 0;
  llvm::errs() << "dist-schedule: error: " << llvm::toString(std::move(error)) << "\n";
  return code;
}

int main(int argc, char **argv) {
  llvm::Expected<ScheduleOptions> options = parseOptions(argc, argv);
  if (!options)
    return report(options.takeError(), 2);
  if (options->help || options->version) {
    llvm::outs() << (options->help ? getHelp() : "dist-schedule " MESHWRIGHT_VERSION "\n");
    return 0;
  }
  return report(run(*options), 1);
}
