//===- Campaign.cpp - mutants in processes of their own -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A worker is a process that tries one mutant after the other and writes an outcome per mutant to a pipe. The
// reader knows by their number which mutant killed a worker, and starts another worker after it. Processor time is
// limited per mutant by a timer whose signal ends the worker.
//
//===----------------------------------------------------------------------===//

#include "Campaign.h"
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace meshwright::test;

/// Mutants that one process tries at most: what they leave in its memory is gone with it.
static constexpr size_t batch = 100;

std::string meshwright::test::readWhole(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  if (!file) {
    std::cerr << "cannot read " << path << "\n";
    std::exit(2);
  }
  return content.str();
}

void meshwright::test::writeWhole(const std::string &path, const std::string &content) {
  std::ofstream(path, std::ios::binary) << content;
}

bool meshwright::test::parseCampaign(int argc, char **argv, CampaignOptions &options) {
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i], name = argument.substr(0, argument.find('='));
    std::string value = name == argument ? "" : argument.substr(name.size() + 1);
    if (name == "--seed")
      options.seed = std::strtoull(value.c_str(), nullptr, 10);
    else if (name == "--jobs")
      options.jobs = static_cast<unsigned>(std::atoi(value.c_str()));
    else if (name == "--seconds")
      options.seconds = static_cast<unsigned>(std::atoi(value.c_str()));
    else if (name == "--scale")
      options.scale = std::atof(value.c_str());
    else if (name == "--least")
      options.least = std::atof(value.c_str());
    else if (name == "--only")
      options.only = value;
    else if (name == "--number")
      options.number = std::atol(value.c_str());
    else if (options.folder.empty() && !argument.starts_with("-"))
      options.folder = argument;
    else
      return false;
  }
  return !options.folder.empty() && options.jobs != 0;
}

namespace {

/// The outcomes of the mutants of a strain.
struct Tally {
  size_t refused = 0, accepted = 0, failed = 0;
};

class StrainRun {
public:
  StrainRun(const CampaignOptions &options, const Strain &strain)
      : options(options), strain(strain),
        count(static_cast<size_t>(static_cast<double>(strain.count) * options.scale)) {}

  Tally run();
  Outcome tryOne(size_t number, const std::string &folder) const;

private:
  void runWorker(unsigned job, Tally &tally) const;
  pid_t startWorker(unsigned job, size_t first, size_t end, int &pipe) const;
  [[noreturn]] void work(unsigned job, size_t first, size_t end, int pipe) const;
  void report(size_t number, const std::string &folder, const std::string &what) const;
  std::string getFolder(unsigned job) const { return options.folder + "/" + strain.name + "-" + std::to_string(job); }

  const CampaignOptions &options;
  const Strain &strain;
  size_t count;
};

} // namespace

Outcome StrainRun::tryOne(size_t number, const std::string &folder) const {
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  // Numbers beside one another are to be seeds that have nothing in common.
  Mutator mutator((options.seed + number) * 0x9E3779B97F4A7C15ull ^ std::hash<std::string>()(strain.name));
  return strain.trial(mutator, folder, folder + "/log");
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define MESHWRIGHT_HAS_SHADOW
#endif
#endif

/// Limits memory to 16 GiB: a program that asks for more has not checked a size.
static void limitMemory() {
  // Sanitizers reserve terabytes; AddressSanitizer has this limit among its options.
#ifndef MESHWRIGHT_HAS_SHADOW
  rlimit memory = {uint64_t(16) << 30, uint64_t(16) << 30};
  setrlimit(RLIMIT_AS, &memory);
#endif
}

void StrainRun::work(unsigned job, size_t first, size_t end, int pipe) const {
  limitMemory();
  rlimit noCore = {0, 0};
  setrlimit(RLIMIT_CORE, &noCore);
  std::string folder = getFolder(job);
  for (size_t number = first; number != end; ++number) {
    itimerval limit = {{0, 0}, {static_cast<time_t>(options.seconds), 0}};
    setitimer(ITIMER_PROF, &limit, nullptr);
    Outcome outcome = tryOne(number, folder);
    if (write(pipe, &outcome, 1) != 1)
      _exit(1);
    // The process that reads the outcomes looks at the files of a wrong mutant, so they must not be overwritten.
    if (outcome == Outcome::Wrong)
      _exit(0);
  }
  _exit(0);
}

pid_t StrainRun::startWorker(unsigned job, size_t first, size_t end, int &pipe) const {
  int ends[2];
  if (::pipe(ends) != 0)
    std::exit(2);
  std::fflush(nullptr);
  pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    work(job, first, end, ends[1]);
  }
  close(ends[1]);
  pipe = ends[0];
  return child;
}

void StrainRun::report(size_t number, const std::string &folder, const std::string &what) const {
  std::string kept = options.folder + "/failed-" + strain.name + "-" + std::to_string(number);
  std::error_code ignored;
  std::filesystem::remove_all(kept);
  std::filesystem::rename(folder, kept, ignored);
  std::printf("%s mutant %zu %s: %s (--seed=%llu --only=%s --number=%zu)\n", strain.name.c_str(), number, what.c_str(),
              kept.c_str(), static_cast<unsigned long long>(options.seed), strain.name.c_str(), number);
  std::fflush(stdout);
}

/// Tries every mutant whose number is `job` modulo the number of jobs, in batches.
void StrainRun::runWorker(unsigned job, Tally &tally) const {
  size_t first = count * job / options.jobs, last = count * (job + 1) / options.jobs;
  while (first != last) {
    int pipe;
    pid_t child = startWorker(job, first, std::min(first + batch, last), pipe);
    Outcome outcome = Outcome::Refused;
    size_t end = std::min(first + batch, last);
    while (first != end && outcome != Outcome::Wrong && read(pipe, &outcome, 1) == 1) {
      ++first;
      tally.refused += outcome == Outcome::Refused;
      tally.accepted += outcome == Outcome::Accepted;
    }
    int status = 0;
    close(pipe);
    waitpid(child, &status, 0);
    if (outcome == Outcome::Wrong) {
      ++tally.failed;
      report(first - 1, getFolder(job), "went wrong");
    } else if (first != end) {
      ++tally.failed;
      report(first++, getFolder(job),
             WIFSIGNALED(status) ? std::string("died of ") + strsignal(WTERMSIG(status))
                                 : "ended its process with status " + std::to_string(WEXITSTATUS(status)));
    }
  }
  std::filesystem::remove_all(getFolder(job));
}

Tally StrainRun::run() {
  std::vector<Tally> tallies(options.jobs);
  // A process that forks has one thread: each job is a process that writes its tally to a pipe.
  std::vector<int> pipes;
  std::fflush(nullptr);
  for (unsigned job = 0; job != options.jobs; ++job) {
    int ends[2];
    if (pipe(ends) != 0)
      std::exit(2);
    if (fork() == 0) {
      runWorker(job, tallies[job]);
      bool written = write(ends[1], &tallies[job], sizeof(Tally)) == sizeof(Tally);
      std::fflush(nullptr);
      _exit(written ? 0 : 1);
    }
    close(ends[1]);
    pipes.push_back(ends[0]);
  }
  Tally sum;
  for (int end : pipes) {
    Tally tally;
    if (read(end, &tally, sizeof(Tally)) != sizeof(Tally))
      ++sum.failed;
    close(end);
    sum.refused += tally.refused;
    sum.accepted += tally.accepted;
    sum.failed += tally.failed;
  }
  while (wait(nullptr) > 0)
    continue;
  return sum;
}

/// True if enough mutants of a strain were accepted. A share of few mutants has no significance.
static bool hasShare(const Strain &strain, double least, const Tally &tally) {
  auto tried = static_cast<double>(tally.refused + tally.accepted);
  constexpr double kFewest = 5;
  if (least * tried < kFewest || static_cast<double>(tally.accepted) >= least * tried)
    return true;
  std::printf("%s: %zu of %.0f are accepted, fewer than %g %%\n", strain.name.c_str(), tally.accepted, tried,
              100 * least);
  return false;
}

int meshwright::test::runCampaign(const CampaignOptions &options, const std::vector<Strain> &strains) {
  std::filesystem::create_directories(options.folder);
  size_t failed = 0, all = 0;
  bool haveShares = true;
  for (const Strain &strain : strains) {
    if (!options.only.empty() && options.only != strain.name)
      continue;
    StrainRun run(options, strain);
    if (options.number >= 0) {
      Outcome outcome = run.tryOne(static_cast<size_t>(options.number), options.folder + "/" + strain.name);
      std::printf("%s\n", outcome == Outcome::Accepted  ? "accepted"
                          : outcome == Outcome::Refused ? "refused"
                                                        : "wrong");
      return outcome == Outcome::Wrong;
    }
    Tally tally = run.run();
    std::printf("%s: %zu refused, %zu accepted, %zu failed\n", strain.name.c_str(), tally.refused, tally.accepted,
                tally.failed);
    std::fflush(stdout);
    haveShares = hasShare(strain, options.least < 0 ? strain.leastAccepted : options.least, tally) && haveShares;
    failed += tally.failed;
    all += tally.refused + tally.accepted + tally.failed;
  }
  std::printf("%zu mutants, %zu failed\n", all, failed);
  return failed != 0 || all == 0 || !haveShares;
}
