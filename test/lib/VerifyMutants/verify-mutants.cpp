//===- verify-mutants.cpp - which mistakes dist-verify finds --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// verify-mutants FOLDER --case=PACKAGE,INIT,FEED... [--count=N] [--seed=N] [--least=X] [--only=KIND]... [--floats=X]
// [--verbose]: makes mistakes in
// packages that are right, and asks dist-verify's library, then the runtime's loader, then the exact check. A package
// that none of them refuses is run in floats, and its variables and outputs are compared bit for bit with those of the
// package that is right. Where bits differ, the exact check goes on for more steps, with the inputs of the float run;
// and nothing but rounding may: the float check compares each step with the serial program. Prints for every kind of
// mistake what came of it, and the share that is found without running. Fails where the packages that are right are
// refused, where of the mistakes that do not need evaluation a smaller share than X is found that changes results,
// where a run dies of a signal, or where a mistake is found by none and changes more than rounding, of which a copy is
// left in FOLDER/silent-N. With --floats the float check runs on what the exact check finds, too; fails where it finds
// a smaller share than X.
//
//===----------------------------------------------------------------------===//

#include "ContentHash.h"
#include "Damage.h"
#include "meshwright/runtime/Package.h"
#include "meshwright/verify/Verify.h"
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>
#include <sys/wait.h>

using namespace meshwright;
using namespace meshwright::test;

namespace {

struct Case {
  std::string package, init, feed;
  Package message;
  uint64_t constantsBytes = 0;
  size_t notes = 0;
  uint64_t steps = 0;   ///< at least three, and whole accumulations
  std::string expected; ///< variables and outputs after these
};

/// Refused and Noted by dist-verify; Exact by the exact check; Failed in floats alone; Silent: found by none; Rounding:
/// other bits, but the same formula, as where the operands of a sum are exchanged.
enum Outcome { Refused, Noted, Loader, Exact, Failed, Silent, Rounding, Harmless, Died, numOutcomes };

struct Tally {
  std::array<size_t, numOutcomes> counts = {};
  size_t tried = 0;
  /// The number that both the exact check and the float check find.
  size_t inFloats = 0;
};

class Campaign {
public:
  Campaign(std::string folder, uint64_t seed) : folder(std::move(folder)), seed(seed) {}

  bool addCase(const std::string &text) {
    std::istringstream stream(text);
    Case &added = cases.emplace_back();
    std::getline(stream, added.package, ',');
    std::getline(stream, added.init, ',');
    std::getline(stream, added.feed, ',');
    if (std::string error = verify::readPackage(added.package, added.message, added.constantsBytes); !error.empty()) {
      fmt::print("{}\n", error);
      return false;
    }
    verify::Report report = verify::verifyPackage(added.message, added.constantsBytes);
    if (!report.ok()) {
      fmt::print("{} is right and refused:\n{}", added.package, verify::formatText(report));
      return false;
    }
    added.notes = countNotes(report);
    uint64_t accumulated = std::max(added.message.accumulation_steps(), 1u);
    added.steps = (3 + accumulated - 1) / accumulated * accumulated;
    return true;
  }

  bool prepare() {
    for (Case &each : cases)
      if (checkExact(each, each.package) != 0 || run(each, each.package, each.expected) != 0) {
        fmt::print("{} does not run:\n{}", each.package, read(folder + "/log"));
        return false;
      }
    return true;
  }

  bool isEmpty() const { return cases.empty(); }

  Outcome tryOne(const Case &each, const Package &mutant, const std::string &name) {
    verify::Report report = verify::verifyPackage(mutant, each.constantsBytes);
    if (!report.ok())
      return Refused;
    std::string package = writeMutant(each, mutant);
    auto loaded = runtime::LoadedPackage::open(package);
    if (!loaded.ok()) {
      fmt::print("refused by the loader alone: {}: {}\n", name, loaded.status().message());
      return Loader;
    }
    if (countNotes(report) > each.notes)
      return Noted;
    int status = checkExact(each, package);
    if (status != 0) {
      if (leastInFloats && !WIFSIGNALED(status)) {
        isFoundInFloats = call(package, getTraining(each) + " --check-serial") != 0;
        if (!isFoundInFloats)
          fmt::print("not found in floats: {}: {}\n", name, explain(each.message, mutant));
      }
      return judge(status, Exact, name, each, mutant);
    }
    std::string values;
    status = run(each, package, values);
    if (status == 0 && values == each.expected)
      return Harmless;
    // Values that a few random inputs do not reach, or that lost against a constant in each of a few steps.
    if (int thorough = checkThoroughly(each, package); thorough != 0)
      return judge(thorough, Exact, name, each, mutant);
    if (status == 0 && call(package, getTraining(each) + " --check-serial") == 0)
      return Rounding;
    return judge(status, status == 0 ? Silent : Failed, name, each, mutant);
  }

  /// The outcome of a run, unless it died, with a line about it.
  Outcome judge(int status, Outcome outcome, const std::string &name, const Case &each, const Package &mutant) {
    if (WIFSIGNALED(status)) {
      fmt::print("died: {}: signal {}\n{}", name, WTERMSIG(status), read(folder + "/log"));
      return Died;
    }
    if (outcome == Silent || isVerbose)
      fmt::print("{}: {}: {}\n", outcome == Silent ? "found by none" : "not found without running", name,
                 explain(each.message, mutant));
    if (outcome == Silent)
      std::filesystem::copy(folder + "/mutant", fmt::format("{}/silent-{}", folder, ++numSilent),
                            std::filesystem::copy_options::recursive | std::filesystem::copy_options::copy_symlinks |
                                std::filesystem::copy_options::overwrite_existing);
    return outcome;
  }

  /// Tries `count` mistakes, in turn of all kinds and cases.
  bool tryAll(size_t count, double least) {
    std::vector<Damage> damages = listDamages();
    std::erase_if(damages, [&](const Damage &damage) { return !only.empty() && !only.contains(damage.name); });
    std::vector<Tally> tallies(damages.size());
    std::mt19937_64 random(seed);
    for (size_t number = 0, attempts = 0; number != count && attempts != 50 * count; ++attempts) {
      size_t kind = attempts % damages.size();
      const Case &each = cases[attempts / damages.size() % cases.size()];
      Package mutant = each.message;
      if (!damages[kind].apply(mutant, random))
        continue;
      isFoundInFloats = false;
      Outcome outcome = tryOne(each, mutant, damages[kind].name);
      tallies[kind].inFloats += isFoundInFloats;
      ++tallies[kind].counts[outcome];
      ++tallies[kind].tried;
      ++number;
    }
    return report(damages, tallies, least);
  }

  bool isVerbose = false;
  /// The kinds of mistakes; all if empty.
  std::set<std::string> only;
  std::optional<double> leastInFloats;

private:
  /// Results that nothing reads, and reads of what an earlier step left.
  static size_t countNotes(const verify::Report &report) {
    size_t notes = 0;
    for (const verify::ProgramReport &program : report.programs)
      notes += program.unread.size() + program.assumed.size();
    return notes;
  }

  /// The instruction that differs first.
  static std::string explain(const Package &right, const Package &mutant) {
    for (int i = 0; i != right.programs_size(); ++i)
      for (int t = 0; t != right.programs(i).tasks_size(); ++t) {
        const Task &ours = right.programs(i).tasks(t), &theirs = mutant.programs(i).tasks(t);
        for (int k = 0; k != ours.instructions_size(); ++k)
          if (k >= theirs.instructions_size() ||
              ours.instructions(k).SerializeAsString() != theirs.instructions(k).SerializeAsString())
            return fmt::format("program {}, task \"{}\", instruction {}: {}", i, ours.name(), k,
                               ours.instructions(k).ShortDebugString());
      }
    return "another difference";
  }

  static std::string read(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream content;
    content << file.rdbuf();
    return content.str();
  }

  std::string writeMutant(const Case &each, const Package &mutant) const {
    std::string package = folder + "/mutant";
    std::filesystem::remove_all(package);
    std::filesystem::create_directories(package);
    for (const auto &entry : std::filesystem::directory_iterator(each.package))
      if (entry.path().filename() != "package.pb")
        std::filesystem::create_symlink(std::filesystem::absolute(entry.path()),
                                        package + "/" + entry.path().filename().string());
    Package unsealed = mutant;
    unsealed.clear_hash();
    std::ofstream(package + "/package.pb", std::ios::binary) << sealPackage(unsealed.SerializeAsString());
    return package;
  }

  /// The status of dist-run, as waitpid has it.
  int call(const std::string &package, const std::string &options) const {
    return std::system(fmt::format("exec timeout 20 dist-run '{}' {} --quiet --timeout=10 "
                                   "--flight-recorder='{}/flight' > '{}/log' 2>&1",
                                   package, options, folder, folder)
                           .c_str());
  }
  int checkExact(const Case &each, const std::string &package) const {
    return call(package, fmt::format("--check-exact={}", each.steps));
  }
  int checkThoroughly(const Case &each, const std::string &package) const {
    constexpr int factor = 8;
    return call(package, fmt::format("--check-exact={} --feed='{}'", factor * each.steps, each.feed));
  }

  static std::string getTraining(const Case &each) {
    return fmt::format("--init='{}' --feed='{}' --steps={}", each.init, each.feed, each.steps);
  }

  /// Trains, and reads the variables and outputs.
  int run(const Case &each, const std::string &package, std::string &values) const {
    std::string saved = folder + "/saved.safetensors", outputs = folder + "/outputs.safetensors";
    std::filesystem::remove(saved);
    std::filesystem::remove(outputs);
    int status = call(package, fmt::format("{} --save='{}' --outputs='{}'", getTraining(each), saved, outputs));
    values = read(saved) + read(outputs);
    return status;
  }

  bool report(const std::vector<Damage> &damages, const std::vector<Tally> &tallies, double least) const {
    fmt::print("{:36} {:>6} {:>8} {:>7} {:>7} {:>7} {:>7} {:>7} {:>9} {:>9}\n", "mistake", "tried", "refused", "noted",
               "loader", "exact", "failed", "silent", "rounding", "harmless");
    Tally all, statics;
    for (size_t i = 0; i != damages.size(); ++i) {
      const auto &counts = tallies[i].counts;
      fmt::print("{:36} {:6} {:8} {:7} {:7} {:7} {:7} {:7} {:9} {:9}{}\n", damages[i].name, tallies[i].tried,
                 counts[Refused], counts[Noted], counts[Loader], counts[Exact], counts[Failed], counts[Silent],
                 counts[Rounding], counts[Harmless], damages[i].needsEvaluation ? "  needs evaluation" : "");
      all.inFloats += tallies[i].inFloats;
      for (size_t outcome = 0; outcome != numOutcomes; ++outcome) {
        all.counts[outcome] += counts[outcome];
        if (!damages[i].needsEvaluation)
          statics.counts[outcome] += counts[outcome];
      }
    }
    auto getShare = [](const Tally &tally) {
      double found = static_cast<double>(tally.counts[Refused] + tally.counts[Noted] + tally.counts[Loader]);
      double wrong = found + static_cast<double>(tally.counts[Exact] + tally.counts[Silent] + tally.counts[Failed] +
                                                 tally.counts[Died]);
      return wrong == 0 ? 1 : found / wrong;
    };
    double share = getShare(statics);
    fmt::print("found without running, of all that are not harmless: {:.1f} %; without those that need evaluation: "
               "{:.1f} %\n",
               100 * getShare(all), 100 * share);
    bool isEnough = true;
    if (leastInFloats) {
      fmt::print(
          "the float check finds {} of the {} that the exact check finds, and accepts {} that differ by rounding\n",
          all.inFloats, all.counts[Exact], all.counts[Rounding]);
      isEnough = static_cast<double>(all.inFloats) >= *leastInFloats * static_cast<double>(all.counts[Exact]);
    }
    return all.counts[Died] == 0 && all.counts[Silent] == 0 && share >= least && isEnough;
  }

  std::string folder;
  uint64_t seed;
  std::vector<Case> cases;
  bool isFoundInFloats = false;
  size_t numSilent = 0;
};

} // namespace

int main(int argc, char **argv) {
  std::vector<std::string> texts;
  std::string folder;
  size_t count = 300;
  uint64_t seed = 1;
  double least = 0;
  bool isVerbose = false;
  std::set<std::string> only;
  std::optional<double> leastInFloats;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i], value = argument.substr(argument.find('=') + 1);
    if (argument.starts_with("--case="))
      texts.push_back(value);
    else if (argument.starts_with("--count="))
      count = std::strtoull(value.c_str(), nullptr, 10);
    else if (argument.starts_with("--seed="))
      seed = std::strtoull(value.c_str(), nullptr, 10);
    else if (argument.starts_with("--least="))
      least = std::atof(value.c_str());
    else if (argument.starts_with("--only="))
      only.insert(value);
    else if (argument.starts_with("--floats="))
      leastInFloats = std::atof(value.c_str());
    else if (argument == "--verbose")
      isVerbose = true;
    else
      folder = argument;
  }
  if (folder.empty() || texts.empty()) {
    fmt::print(stderr, "usage: verify-mutants FOLDER --case=PACKAGE,INIT,FEED... [--count=300] [--seed=1] [--least=X] "
                       "[--only=KIND]... [--floats=X] [--verbose]\n");
    return 2;
  }
  std::filesystem::create_directories(folder);
  Campaign campaign(folder, seed);
  campaign.isVerbose = isVerbose;
  campaign.only = only;
  campaign.leastInFloats = leastInFloats;
  for (const std::string &text : texts)
    if (!campaign.addCase(text))
      return 1;
  return campaign.prepare() && campaign.tryAll(count, least) ? 0 : 1;
}
