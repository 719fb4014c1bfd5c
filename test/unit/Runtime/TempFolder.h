//===- TempFolder.h - a folder that a test has for itself -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TEST_UNIT_RUNTIME_TEMPFOLDER_H
#define MESHWRIGHT_TEST_UNIT_RUNTIME_TEMPFOLDER_H

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace meshwright::test {

/// Deleted with everything in it at the end.
class TempFolder {
public:
  TempFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "meshwright-XXXXXX").string();
    path = mkdtemp(pattern.data());
  }
  TempFolder(const TempFolder &) = delete;
  ~TempFolder() { std::filesystem::remove_all(path); }

  std::string operator/(const std::string &name) const { return path + "/" + name; }
  void write(const std::string &name, const std::string &bytes) const {
    std::ofstream(*this / name, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  std::string read(const std::string &name) const {
    std::ostringstream text;
    text << std::ifstream(*this / name, std::ios::binary).rdbuf();
    return text.str();
  }
  bool has(const std::string &name) const { return std::filesystem::exists(*this / name); }
  std::vector<std::string> list() const {
    std::vector<std::string> names;
    for (const auto &entry : std::filesystem::directory_iterator(path))
      names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }

private:
  std::string path;
};

} // namespace meshwright::test

#endif
