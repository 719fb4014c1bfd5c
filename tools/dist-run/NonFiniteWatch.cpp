//===- NonFiniteWatch.cpp - steps whose numbers are not finite ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NonFiniteWatch.h"
#include "meshwright/runtime/Checkpoint.h"
#include <cmath>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::tool;

Status NonFiniteWatch::begin(const CheckpointIndex *resumed) {
  if (skips() && session.getPackage().message().metrics().found_inf().empty())
    return session.getWorld().agree(
        usageError("--on-nonfinite=skip wants a package that leaves out the update of a step whose gradients are not "
                   "finite; train {{ precision {{ loss_scale {{ constant: 1 }} }} }} in the strategy would make one"));
  auto found = findNonFinite(session);
  MW_TRY(found.status());
  for (const NonFiniteValue &value : *found)
    meant.insert(value.name);
  if (!resumed || resumed->isFinite())
    return {};
  for (const std::string &name : *resumed->nonFinite)
    meant.erase(name);
  return inspectState(fmt::format("the checkpoint of step {}", resumed->step)).status();
}

Result<std::vector<NonFiniteValue>> NonFiniteWatch::find() const {
  MW_TRY_ASSIGN(std::vector<NonFiniteValue> values, findNonFinite(session));
  std::erase_if(values, [&](const NonFiniteValue &value) { return value.isVariable && meant.contains(value.name); });
  return values;
}

/// Returns true if the step counts as not finite. A step whose update was skipped, which happens while the loss scale
/// is sought, counts by its loss alone.
bool NonFiniteWatch::noteScalars(StepMetrics &metrics) const {
  bool counts = false;
  auto note = [&](const std::string &name, std::optional<double> value, bool isCounted) {
    if (!value || std::isfinite(*value))
      return;
    metrics.nonFinite.push_back({name, StepMetrics::format(*value), {}});
    counts |= isCounted;
  };
  note("loss", metrics.loss, true);
  note("grad_norm", metrics.gradNorm, !metrics.isSkipped());
  // Any of the results may be the loss where the package does not say which is.
  if (!metrics.loss)
    for (const auto &[name, value] : metrics.outputs)
      note(name, value, true);
  return counts;
}

Status NonFiniteWatch::inspect(StepMetrics &metrics) {
  World &world = session.getWorld();
  // The first process alone has read the scalars.
  std::byte counts{world.isFirst() && noteScalars(metrics)};
  MW_TRY(world.broadcast(std::span(&counts, 1)));
  row = counts == std::byte(0) ? 0 : row + 1;
  isStateLost = false;
  if (row == 1) {
    MW_TRY_ASSIGN(std::vector<NonFiniteValue> values, find());
    for (const NonFiniteValue &value : values) {
      isStateLost |= value.isVariable;
      metrics.nonFinite.push_back({value.name, std::string(getName(value.kind)), value.ranks});
    }
    metrics.nonFiniteText = values.empty() ? "" : describe(values);
  }
  finding = metrics.describeNonFinite();
  return {};
}

void NonFiniteWatch::warn(const std::string &text) {
  if (!std::exchange(hasWarned, true))
    progress.warn(text);
}

Status NonFiniteWatch::end(const std::string &text) {
  World &world = session.getWorld();
  // The state of an earlier step may still be on its way to the disk.
  if (writer)
    MW_TRY(writer->finish());
  Status status;
  if (world.isFirst()) {
    std::string last;
    if (!options.checkpoint.empty())
      if (auto found = listCheckpoints(options.checkpoint); found.ok())
        if (std::optional<size_t> finite = findFinite(*found, found->size()))
          last = fmt::format("; the last checkpoint whose state is finite is {}", (*found)[*finite].second);
    status = Status(Code::CheckFailed, text + last);
  }
  return world.agree(status);
}

Status NonFiniteWatch::judge(const std::string &step) {
  if (row == 0)
    return {};
  if (stops())
    return end(fmt::format("{}: not finite: {}; --on-nonfinite=stop ends the run", step, finding));
  if (skips())
    return isStateLost
               ? end(fmt::format("{}: not finite: {}; updates that are left out do not mend variables", step, finding))
               : Status();
  bool isLimited = options.onNonFinite.empty();
  if (isLimited && row == kLimit)
    return end(fmt::format("{}: not finite: {}; it is the last of {} such steps in a row, and --on-nonfinite=warn "
                           "would go on",
                           step, finding, row));
  warn(fmt::format("{}: not finite: {}; {}", step, finding,
                   isLimited ? fmt::format("the run ends after {} such steps in a row", kLimit)
                             : std::string("the run goes on")));
  return {};
}

Result<std::vector<std::string>> NonFiniteWatch::inspectState(const std::string &when) {
  MW_TRY_ASSIGN(std::vector<NonFiniteValue> values, find());
  std::erase_if(values, [](const NonFiniteValue &value) { return !value.isVariable; });
  std::vector<std::string> names;
  for (const NonFiniteValue &value : values)
    names.push_back(value.name);
  if (names.empty())
    return names;
  std::string text = fmt::format("{}: variables are not finite: {}", when, describe(values));
  if (stops() || skips())
    return end(fmt::format("{}; --on-nonfinite={} ends the run", text, options.onNonFinite));
  warn(text);
  return names;
}
