//===- Comparison.cpp - two graphs, compared by evaluation ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The library of dist-verify shares no code with the compiler and the runtime, so that its proofs of packages do not
// rest on theirs. A comparison of graphs needs both, and runs them as the programs that they are.
//
//===----------------------------------------------------------------------===//

#include "Comparison.h"
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <optional>
#include <spawn.h>
#include <sys/wait.h>

using namespace meshwright;
using namespace meshwright::tool;
namespace fs = std::filesystem;

extern char **environ;

namespace {

/// A folder that goes with its object.
class TemporaryFolder {
public:
  TemporaryFolder() {
    std::error_code error;
    fs::path parent = fs::temp_directory_path(error);
    if (error)
      return;
    std::string pattern = parent / "dist-verify.XXXXXX";
    if (mkdtemp(pattern.data()))
      path = pattern;
  }
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path.empty())
      fs::remove_all(path, ignored);
  }

  /// Empty if there is no such folder.
  std::string path;
};

constexpr int findings = 1, usage = 2;

} // namespace

void Comparison::set(const std::string &name, const std::string &value) {
  if (name == "--steps")
    steps = value;
  else if (name == "--mesh" || name == "--place")
    compilerOptions.push_back(name + "=" + value);
  else
    runOptions.push_back(name + "=" + value);
}

/// Runs the tool of that name beside this one; its exit status, or nothing after an error.
static std::optional<int> runTool(const char *name, std::vector<std::string> arguments) {
  std::error_code error;
  fs::path self = fs::read_symlink("/proc/self/exe", error);
  std::string program = self.parent_path() / name;
  arguments.insert(arguments.begin(), program);
  std::vector<char *> pointers;
  for (std::string &argument : arguments)
    pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  pid_t child = 0;
  std::fflush(nullptr);
  if (int code = posix_spawn(&child, program.c_str(), nullptr, nullptr, pointers.data(), environ)) {
    fmt::print(stderr, "dist-verify: error: cannot start {}, which compares graphs: {}\n", program,
               std::strerror(code));
    return std::nullopt;
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR)
      return std::nullopt;
  if (WIFEXITED(status))
    return WEXITSTATUS(status);
  fmt::print(stderr, "dist-verify: error: {} ended by signal {}\n", program, WTERMSIG(status));
  return std::nullopt;
}

int meshwright::tool::compare(const Comparison &comparison) {
  TemporaryFolder folder;
  if (folder.path.empty()) {
    fmt::print(stderr, "dist-verify: error: cannot make a temporary folder: {}\n", std::strerror(errno));
    return findings;
  }
  std::string package = folder.path + "/package";
  std::vector<std::string> arguments = {comparison.serial, "--partitioned=" + comparison.partitioned,
                                        "--emit=" + package, "--target=exact", "--quiet"};
  arguments.insert(arguments.end(), comparison.compilerOptions.begin(), comparison.compilerOptions.end());
  std::optional<int> compiled = runTool("dist-opt", std::move(arguments));
  if (compiled != 0)
    return compiled == usage ? usage : findings;
  arguments = {package, "--check-exact=" + comparison.steps};
  if (comparison.quiet)
    arguments.emplace_back("--quiet");
  arguments.insert(arguments.end(), comparison.runOptions.begin(), comparison.runOptions.end());
  std::optional<int> checked = runTool("dist-run", std::move(arguments));
  return checked == 0 || checked == usage ? *checked : findings;
}
