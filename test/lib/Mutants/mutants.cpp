//===- mutants.cpp - the tools on thousands of damaged files --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mutants FOLDER --graph=FILE... --strategy=FILE... [--seed=N] [--scale=X] [--jobs=N]: damages graphs, strategies,
// packages, safetensors and checkpoints, and starts dist-opt and dist-run on them. They exit with 0 or with 1 and an
// error, never by a signal, and leave no partial output; what compiles agrees with its own serial program.
//
//===----------------------------------------------------------------------===//

#include "Trials.h"
#include <iostream>

using namespace meshwright::test;

int main(int argc, char **argv) {
  Samples samples;
  std::vector<char *> rest = {argv[0]};
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    if (argument.starts_with("--graph="))
      samples.graphs.push_back(argument.substr(8));
    else if (argument.starts_with("--strategy="))
      samples.strategies.push_back(argument.substr(11));
    else
      rest.push_back(argv[i]);
  }
  CampaignOptions options;
  if (!parseCampaign(static_cast<int>(rest.size()), rest.data(), options) || samples.graphs.empty() ||
      samples.strategies.empty()) {
    std::cerr << "usage: mutants FOLDER --graph=FILE... --strategy=FILE... [--seed=N] [--scale=X] [--jobs=N] "
                 "[--seconds=N] [--only=STRAIN [--number=N]] [--least=X]\n";
    return 2;
  }
  makeSamples(samples, options.folder + "/samples");
  std::vector<Strain> strains = makeGraphStrains(samples);
  for (Strain &strain : makePackageStrains(samples))
    strains.push_back(std::move(strain));
  return runCampaign(options, strains);
}
