//===- Replay.cpp - a fuzz target on its corpus and mutants of it ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The main function of fuzz targets in builds without libFuzzer:
//
// TARGET [--mutants=N] [--seed=N] FILE|FOLDER...: reads every file that is named, or that is in a folder that is named,
// and every beginning of it that is a power of two long; then N mutants of these files, one after the other. A signal
// ends it with the options that read the mutant again, as the last of them.
//
//===----------------------------------------------------------------------===//

#include "Fuzz.h"
#include "test/lib/Mutants/Mutator.h"
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

using namespace meshwright::test;

/// The number of the mutant that is being read; 0 before the first one.
static volatile size_t current = 0;
static unsigned long long seed = 1;

static void sayWhich(int signal) {
  char text[128];
  int length = std::snprintf(text, sizeof(text), "signal %d: --mutants=%zu --seed=%llu\n", signal, current, seed);
  if (write(2, text, static_cast<size_t>(length)) < 0)
    _exit(2);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

/// From a copy of its own, so that a read beyond the end is one beyond an allocation.
static void readCopy(std::string_view content) {
  std::vector<char> copy(content.begin(), content.end());
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t *>(copy.data()), copy.size());
}

static void readBeginnings(const std::string &content) {
  for (size_t size = 1; size < content.size(); size *= 2)
    readCopy(std::string_view(content).substr(0, size));
  readCopy(content);
}

static void readMutants(const std::vector<std::string> &corpus, size_t count) {
  for (size_t number = 1; number <= count; ++number) {
    current = number;
    Mutator mutator((seed + number) * 0x9E3779B97F4A7C15ull);
    const std::string &content = corpus[mutator.draw(corpus.size())];
    readCopy(mutator.draw(2) == 0 ? mutator.mutateBytes(content) : mutator.mutateLines(content));
  }
}

static std::string readFile(const std::filesystem::path &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Adds the file of that name, or the files in the folder of that name in the order of their names.
static void addFiles(const std::filesystem::path &path, std::vector<std::string> &corpus) {
  if (!std::filesystem::is_directory(path)) {
    corpus.push_back(readFile(path));
    return;
  }
  std::vector<std::filesystem::path> files;
  for (const auto &entry : std::filesystem::recursive_directory_iterator(path))
    if (entry.is_regular_file())
      files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const auto &file : files)
    corpus.push_back(readFile(file));
}

int main(int argc, char **argv) {
  size_t mutants = 0;
  std::vector<std::string> corpus;
  for (int i = 1; i < argc; ++i) {
    std::string_view argument = argv[i];
    if (argument.starts_with("--mutants="))
      mutants = std::strtoull(argv[i] + 10, nullptr, 10);
    else if (argument.starts_with("--seed="))
      seed = std::strtoull(argv[i] + 7, nullptr, 10);
    else
      addFiles(argument, corpus);
  }
  if (corpus.empty()) {
    std::fprintf(stderr, "usage: %s [--mutants=N] [--seed=N] FILE|FOLDER...\n", argv[0]);
    return 2;
  }
  for (int signal : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL})
    std::signal(signal, sayWhich);
  for (const std::string &content : corpus)
    readBeginnings(content);
  readMutants(corpus, mutants);
  std::printf("%zu files and %zu mutants read\n", corpus.size(), mutants);
  return 0;
}
