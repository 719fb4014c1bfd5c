//===- Campaign.h - mutants in processes of their own -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TEST_LIB_MUTANTS_CAMPAIGN_H
#define MESHWRIGHT_TEST_LIB_MUTANTS_CAMPAIGN_H

#include "Mutator.h"
#include <functional>
#include <vector>

namespace meshwright::test {

/// The outcome of a mutant.
enum class Outcome : unsigned char {
  Refused,  ///< exit status 1, and an error was printed
  Accepted, ///< exit status 0
  Wrong,    ///< anything else that a process can still tell of itself
};

/// Tries one mutant and says what came of it. What was printed so far is in the file `log`; a reason for `Wrong` is
/// printed too.
using Trial = std::function<Outcome(Mutator &mutator, const std::string &folder, const std::string &log)>;

/// A kind of mutants.
struct Strain {
  std::string name;
  size_t count;
  Trial trial;
  /// The least share of mutants that has to be accepted; a strain that the tools always refuse would test only their
  /// readers.
  double leastAccepted = 0;
};

/// The command line of a campaign.
struct CampaignOptions {
  /// Names the first mutant; the others follow.
  uint64_t seed = 1;
  /// So many processes at a time.
  unsigned jobs = 2;
  /// Processor time that a mutant may take.
  unsigned seconds = 20;
  /// Multiplies the number of mutants.
  double scale = 1;
  /// Tries the mutant of this number alone, of strain `only`, in this process.
  long number = -1;
  std::string only;
  /// The least share for all strains, in place of their own, if not negative.
  double least = -1;
  /// The folder for mutants, in which those that failed are left.
  std::string folder;
};

/// Parses `--seed=N --jobs=N --seconds=N --scale=X --only=STRAIN --number=N --least=X FOLDER`. False where it is none.
bool parseCampaign(int argc, char **argv, CampaignOptions &options);

/// Tries all mutants of all strains, many in a process, and starts another process where one dies. Prints a line per
/// strain and one per mutant that died or went wrong, with the command that tries it again. The exit status: 0 where
/// none did and every strain has its share of accepted ones.
int runCampaign(const CampaignOptions &options, const std::vector<Strain> &strains);

/// The content of a file, which has to be there.
std::string readWhole(const std::string &path);
void writeWhole(const std::string &path, const std::string &content);

} // namespace meshwright::test

#endif
