//===- Results.cpp - the files that a run leaves --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Results.h"
#include "Profile.h"

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

/// The variables but for the accumulators.
static std::vector<size_t> findSaved(const Session &session, Progress &progress) {
  std::vector<size_t> saved;
  const auto &variables = session.getPackage().message().variables();
  for (int i = 0; i != variables.size(); ++i)
    if (variables[i].kind() != Variable::ACCUMULATOR)
      saved.push_back(static_cast<size_t>(i));
  if (!session.isUpdated())
    progress.warn(
        fmt::format("the run ends after {} of {} steps of an accumulation: --save leaves out what they accumulated, "
                    "--checkpoint would not",
                    session.getAccumulationPosition(), session.getPackage().getAccumulationSteps()));
  return saved;
}

/// On the first process the file, without its name; nothing on the others.
static Result<std::optional<SafeTensorsWriter>> writeValues(const std::string &path, const Session &session,
                                                            const ValueSet &set, const std::vector<size_t> &written,
                                                            std::optional<DType> type) {
  auto getType = [&](size_t i) { return type && isFloat(set.getType(i)) ? *type : set.getType(i); };
  std::vector<SafeTensorsEntry> entries;
  for (size_t i : written)
    entries.push_back({set.getName(i), getType(i), set.getShape(i)});
  std::optional<SafeTensorsWriter> writer;
  if (session.getWorld().isFirst()) {
    MW_TRY_ASSIGN(writer, SafeTensorsWriter::create(path, entries));
  }
  std::vector<std::byte> whole, rounded;
  auto append = [&](size_t i) -> Status {
    if (getType(i) == set.getType(i))
      return writer->append(whole);
    rounded.resize(*getNumElements(set.getShape(i)) * runtime::getSize(getType(i)));
    MW_TRY(roundFloats(set.getType(i), whole, getType(i), rounded)
               .within(fmt::format("--save-dtype: variable \"{}\"", set.getName(i))));
    return writer->append(rounded);
  };
  // An error of the first process waits until all processes have sent all that is gathered.
  Status status;
  for (size_t i : written) {
    if (writer)
      whole.resize(set.getBytes(i));
    MW_TRY(session.gather(set, i, whole));
    if (writer && status.ok())
      status = append(i);
  }
  MW_TRY(status);
  return writer;
}

Status meshwright::tool::writeResults(const Options &options, Session &session,
                                      const std::vector<PlannedVariant> &plans, const std::vector<TracedStep> &traced,
                                      Progress &progress) {
  std::optional<SafeTensorsWriter> outputs, variables;
  if (!options.outputs.empty()) {
    MW_TRY_ASSIGN(outputs, writeValues(options.outputs, session, session.getOutputs(), findKnown(session, progress),
                                       std::nullopt));
  }
  if (!options.save.empty()) {
    MW_TRY_ASSIGN(variables, writeValues(options.save, session, session.getVariables(), findSaved(session, progress),
                                         options.saveType));
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
