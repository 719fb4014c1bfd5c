//===- Verify.cpp - the proof of a package --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs the proofs in order: the structure, then each program alone, then the order of collectives over all programs. A
// proof runs only if the structure that it needs is sound, so that one damage does not produce a list of consequences.
//
//===----------------------------------------------------------------------===//

#include "meshwright/verify/Verify.h"
#include "Program.h"
#include <algorithm>
#include <fmt/format.h>

using namespace meshwright;
using namespace meshwright::verify;

/// The schema whose meaning is known here.
static constexpr uint32_t schemaVersion = 8;
static constexpr int64_t maxRanks = 65536;

const char *verify::getName(Property property) {
  switch (property) {
  case Property::Structure:
    return "structure";
  case Property::Definition:
    return "definition";
  case Property::Flight:
    return "flight";
  default:
    return "order";
  }
}

namespace {

/// One more than the largest tag of all programs.
uint64_t countTags(const Package &package) {
  uint64_t tags = 1;
  auto add = [&](const Program &program) {
    for (const Task &task : program.tasks())
      for (const Instruction &instruction : task.instructions())
        for (uint64_t tag : {instruction.collective().tag(), instruction.wait().tag(), instruction.copy().tag(),
                             instruction.copy_wait().tag()})
          tags = std::max(tags, tag + 1);
  };
  for (const Program &program : package.programs())
    add(program);
  if (package.has_serial())
    add(package.serial());
  return tags;
}

class Verifier {
public:
  Verifier(uint64_t constantsBytes, Report &report, Findings &findings)
      : constantsBytes(constantsBytes), report(report), findings(findings) {}

  void verify(const Package &package) {
    if (package.version() != schemaVersion)
      return fail("the package has schema version {}, but {} is known", package.version(), schemaVersion);
    if (!readMesh(package))
      return;
    Part training = verifyPart(package, "");
    report.variants = static_cast<uint32_t>(listVariants(package).size());
    if (!package.has_evaluation())
      return;
    if (package.evaluation().has_evaluation())
      return fail("the evaluation has an evaluation itself");
    Part evaluation = verifyPart(package.evaluation(), "evaluation: ");
    if (training.isSound && evaluation.isSound)
      compare(package, training, evaluation);
  }

private:
  /// Programs with the serial one last, where there is one.
  struct Part {
    std::vector<CheckedProgram> programs;
    std::vector<CheckedProgram> serial;
    bool isSound = false;
  };

  template <typename... Args> void fail(fmt::format_string<Args...> format, Args &&...args) {
    findings.add(Property::Structure, {}, fmt::format(format, std::forward<Args>(args)...));
  }

  bool readMesh(const Package &package) {
    std::vector<int64_t> sizes;
    int64_t count = 1;
    for (const Axis &axis : package.axes()) {
      if (axis.size() < 1 || axis.size() > maxRanks / count) {
        fail("axis \"{}\" has size {}, in a mesh of at most {} ranks", axis.name(), axis.size(), maxRanks);
        return false;
      }
      count *= axis.size();
      sizes.push_back(axis.size());
    }
    mesh = Ranks(std::move(sizes));
    report.ranks = mesh.count();
    return true;
  }

  Part verifyPart(const Package &package, const std::string &prefix) {
    Part part;
    uint64_t before = findings.count();
    if (package.program_of_rank_size() != mesh.count())
      fail("{}the mesh has {} ranks, but {} have a program", prefix, mesh.count(), package.program_of_rank_size());
    for (uint32_t program : package.program_of_rank())
      if (program >= static_cast<uint32_t>(package.programs_size()))
        fail("{}a rank has program {} of {}", prefix, program, package.programs_size());
    std::vector<uint32_t> variants = listVariants(package);
    if (variants.empty())
      fail("{}the step has more variants than can be followed", prefix);
    if (findings.count() != before)
      return part;
    addPrograms(package, prefix, part);
    part.isSound = true;
    bool isMeaningful = true;
    for (std::vector<CheckedProgram> *programs : {&part.programs, &part.serial})
      for (CheckedProgram &program : *programs)
        isMeaningful &= verifyProgram(program, variants, part.isSound);
    if (part.isSound && isMeaningful)
      checkOrder(package, mesh, part.programs, variants, report, findings);
    return part;
  }

  void addPrograms(const Package &package, const std::string &prefix, Part &part) const {
    std::vector<std::vector<int64_t>> ranks(static_cast<size_t>(package.programs_size()));
    for (int rank = 0; rank != package.program_of_rank_size(); ++rank)
      ranks[package.program_of_rank(rank)].push_back(rank);
    uint64_t tags = countTags(package);
    auto add = [&](std::vector<CheckedProgram> &programs, const Program &program, const Ranks &of, std::string name) {
      CheckedProgram &checked = programs.emplace_back();
      checked.program = &program;
      checked.package = &package;
      checked.mesh = &of;
      checked.name = prefix + name;
      checked.isSerial = &programs == &part.serial;
      checked.microBatches = std::max(package.micro_batches(), 1u);
      checked.accumulationSteps = std::max(package.accumulation_steps(), 1u);
      checked.numTags = tags;
      return &checked;
    };
    for (int i = 0; i != package.programs_size(); ++i) {
      CheckedProgram *checked = add(part.programs, package.programs(i), mesh, fmt::format("program {}", i));
      checked->ranks = ranks[static_cast<size_t>(i)];
      checked->ranksText = formatRanks(checked->ranks);
    }
    if (package.has_serial())
      add(part.serial, package.serial(), alone, "serial program");
  }

  /// False where its collectives cannot be followed. `isSound` becomes false where nothing can.
  bool verifyProgram(CheckedProgram &program, const std::vector<uint32_t> &variants, bool &isSound) {
    ProgramReport &own = report.programs.emplace_back();
    own.name = program.name;
    own.ranks = program.ranksText;
    if (!checkStructure(program, constantsBytes, findings)) {
      isSound = false;
      return false;
    }
    checkDefinitions(program, variants, own, findings);
    return checkFlights(program, variants, own, findings);
  }

  void compare(const Package &package, const Part &training, const Part &evaluation) {
    std::set<std::pair<uint32_t, uint32_t>> pairs;
    for (int rank = 0; rank != package.program_of_rank_size(); ++rank)
      pairs.insert({package.program_of_rank(rank), package.evaluation().program_of_rank(rank)});
    for (auto [trained, evaluated] : pairs)
      checkEvaluation(training.programs[trained], evaluation.programs[evaluated], findings);
    if (!training.serial.empty() && !evaluation.serial.empty())
      checkEvaluation(training.serial[0], evaluation.serial[0], findings);
  }

  uint64_t constantsBytes;
  Report &report;
  Findings &findings;
  Ranks mesh, alone;
};

} // namespace

Report verify::verifyPackage(const Package &package, uint64_t constantsBytes, const Options &options) {
  Report report;
  Findings findings(report, options.maxFindings);
  Verifier(constantsBytes, report, findings).verify(package);
  return report;
}
