//===- Replay.cpp - a fuzz target on the files of its corpus --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The main function of fuzz targets in builds without libFuzzer: reads every file that is named, or that is in a folder
// that is named, and every beginning of it that is a power of two long.
//
//===----------------------------------------------------------------------===//

#include "Fuzz.h"
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

static void replay(const std::filesystem::path &path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> content{std::istreambuf_iterator<char>(file), {}};
  auto read = [&](size_t size) {
    // A copy of its own, so that a read beyond the end is one beyond an allocation.
    std::vector<char> part(content.begin(), content.begin() + static_cast<ptrdiff_t>(size));
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t *>(part.data()), part.size());
  };
  for (size_t size = 1; size < content.size(); size *= 2)
    read(size);
  read(content.size());
}

int main(int argc, char **argv) {
  int count = 0;
  for (int i = 1; i < argc; ++i) {
    if (!std::filesystem::is_directory(argv[i])) {
      replay(argv[i]);
      ++count;
      continue;
    }
    for (const auto &entry : std::filesystem::recursive_directory_iterator(argv[i]))
      if (entry.is_regular_file()) {
        replay(entry.path());
        ++count;
      }
  }
  std::printf("%d files read\n", count);
  return count == 0;
}
