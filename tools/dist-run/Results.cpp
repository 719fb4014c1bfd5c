//===- Results.cpp - the files that a run leaves --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Results.h"
#include "Profile.h"
#include "meshwright/runtime/WriteValues.h"

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::tool;

/// The outputs that the last step said.
static std::vector<size_t> findKnown(const Session &session, Progress &progress) {
  std::vector<size_t> known;
  const ValueSet &outputs = session.getOutputs();
  for (size_t i = 0; i != outputs.size(); ++i)
    if (session.isKnown(i))
      known.push_back(i);
  if (known.size() != outputs.size())
    progress.warn(
        fmt::format("the last step is {} of an accumulation of {}: --outputs leaves out {} of {} outputs, which the "
                    "last one of an accumulation makes",
                    session.getAccumulationPosition() - 1, session.getPackage().getAccumulationSteps(),
                    outputs.size() - known.size(), outputs.size()));
  return known;
}

/// The variables to save, of which a warning says so if they are not all.
static std::vector<size_t> findSaved(const Session &session, Progress &progress) {
  if (!session.isUpdated())
    progress.warn(
        fmt::format("the run ends after {} of {} steps of an accumulation: --save leaves out what they accumulated, "
                    "--checkpoint would not",
                    session.getAccumulationPosition(), session.getPackage().getAccumulationSteps()));
  return runtime::findSaved(session);
}

Status meshwright::tool::writeResults(const Options &options, Session &session,
                                      const std::vector<PlannedVariant> &plans, const std::vector<TracedStep> &traced,
                                      Progress &progress) {
  std::optional<SafeTensorsWriter> outputs, variables;
  if (!options.outputs.empty()) {
    MW_TRY_ASSIGN(outputs, writeValues(options.outputs, session, session.getOutputs(), findKnown(session, progress)));
  }
  if (!options.save.empty()) {
    MW_TRY_ASSIGN(variables, writeValues(options.save, session, session.getVariables(), findSaved(session, progress),
                                         options.saveType, "--save-dtype: "));
  }
  std::optional<OutputFile> timeline, trace, profile;
  if (!options.profile.empty()) {
    MW_TRY_ASSIGN(profile, writeProfile(options.profile, session, traced));
  }
  if (!session.getWorld().isFirst())
    return {};
  if (!plans.empty() && !options.timeline.empty()) {
    MW_TRY_ASSIGN(timeline, writeTimeline(options.timeline, plans, {}, session.getNumRanks()));
  }
  if (!options.trace.empty()) {
    MW_TRY_ASSIGN(trace, writeTimeline(options.trace, plans, traced, session.getNumRanks()));
  }
  if (timeline)
    MW_TRY(timeline->commit());
  if (trace)
    MW_TRY(trace->commit());
  if (profile)
    MW_TRY(profile->commit());
  if (outputs)
    MW_TRY(outputs->commit());
  if (variables)
    MW_TRY(variables->commit());
  return {};
}
