//===- Tools.cpp - the two tools as functions -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls dist-opt and dist-run as functions of this process, which is forked per trial, because starting programs would
// take most of the time of ten thousand trials.
//
//===----------------------------------------------------------------------===//

#include "Trials.h"
#include "meshwright/Pipeline/CommandLine.h"
#include "meshwright/Pipeline/Pipeline.h"
#include "meshwright/runtime/Package.h"
#include "meshwright/runtime/SafeTensors.h"
#include "mlir/IR/DialectRegistry.h"
#include "tools/dist-run/Command.h"
#include <fcntl.h>
#include <filesystem>
#include <iostream>
#include <unistd.h>

using namespace meshwright;
using namespace meshwright::test;

namespace {

/// Standard output and error go to a file while this is there.
class Redirection {
public:
  explicit Redirection(const std::string &path) : out(dup(1)), error(dup(2)) {
    std::fflush(nullptr);
    int file = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    dup2(file, 1);
    dup2(file, 2);
    close(file);
  }
  ~Redirection() {
    std::fflush(nullptr);
    dup2(out, 1);
    dup2(error, 2);
    close(out);
    close(error);
  }

private:
  int out, error;
};

/// A command line as `main` gets it.
class Command {
public:
  Command(const char *program, const std::vector<std::string> &arguments) : words{program} {
    words.insert(words.end(), arguments.begin(), arguments.end());
    for (std::string &word : words)
      pointers.push_back(word.data());
    pointers.push_back(nullptr);
  }
  int argc() const { return static_cast<int>(words.size()); }
  char **argv() { return pointers.data(); }

private:
  std::vector<std::string> words;
  std::vector<char *> pointers;
};

} // namespace

/// Made once, before processes are forked.
static const mlir::DialectRegistry &getRegistry() {
  static const mlir::DialectRegistry registry = [] {
    mlir::DialectRegistry result;
    registerAllDialects(result);
    registerAllPasses();
    return result;
  }();
  return registry;
}

int meshwright::test::runCompiler(const std::vector<std::string> &arguments, const std::string &log) {
  Command command("dist-opt", arguments);
  Redirection redirection(log);
  return runCompileCommand(command.argc(), command.argv(), getRegistry());
}

int meshwright::test::runRuntime(const std::vector<std::string> &arguments, const std::string &log) {
  Command command("dist-run", arguments);
  Redirection redirection(log);
  return tool::runCommand(command.argc(), command.argv());
}

Outcome meshwright::test::judge(int status, const std::string &log) {
  if (status == 0)
    return Outcome::Accepted;
  return status == 1 && readWhole(log).find("error: ") != std::string::npos ? Outcome::Refused : Outcome::Wrong;
}

/// Small floats, and integers that are good as indices and as booleans.
static std::vector<std::byte> makeNumbers(const runtime::SafeTensorsEntry &entry) {
  uint64_t size = runtime::getSize(entry.type), count = *runtime::getNumElements(entry.shape);
  std::vector<std::byte> bytes(count * size);
  for (uint64_t i = 0; i != count; ++i)
    runtime::dispatch(entry.type, [&](auto zero) {
      decltype(zero) value(static_cast<float>(runtime::isFloat(entry.type) ? 0.1 * static_cast<double>(i % 7) : i % 2));
      std::memcpy(bytes.data() + i * size, &value, size);
    });
  return bytes;
}

static bool writeTensors(const std::string &path, const std::vector<runtime::SafeTensorsEntry> &entries) {
  auto writer = runtime::SafeTensorsWriter::create(path, entries);
  if (!writer.ok())
    return false;
  for (const runtime::SafeTensorsEntry &entry : entries)
    if (!writer->append(makeNumbers(entry)).ok())
      return false;
  return writer->commit().ok();
}

bool meshwright::test::writeNumbers(const std::string &folder, const std::string &feed, const std::string &init) {
  auto package = runtime::LoadedPackage::open(folder);
  if (!package.ok())
    return false;
  std::vector<runtime::SafeTensorsEntry> inputs, variables;
  auto add = [](auto &entries, const auto &value) {
    entries.push_back({value.name(), value.dtype(), {value.shape().begin(), value.shape().end()}});
  };
  for (const Port &port : package->message().inputs())
    add(inputs, port);
  for (const Variable &variable : package->message().variables())
    if (!variable.has_init())
      add(variables, variable);
  return writeTensors(feed, inputs) && writeTensors(init, variables);
}

void meshwright::test::makeSamples(Samples &samples, const std::string &folder) {
  std::filesystem::create_directories(folder);
  std::string log = folder + "/log";
  samples.package = folder + "/package";
  samples.feed = folder + "/feed.safetensors";
  samples.init = folder + "/init.safetensors";
  samples.checkpoint = folder + "/checkpoint";
  samples.programs = folder + "/programs";
  std::filesystem::remove_all(samples.checkpoint);
  std::filesystem::remove_all(samples.programs);
  std::filesystem::create_directories(samples.programs);
  bool made =
      runCompiler({samples.graphs[0], "--strategy=" + samples.strategies[0], "--emit=" + samples.package, "--quiet"},
                  log) == 0 &&
      writeNumbers(samples.package, samples.feed, folder + "/none.safetensors") &&
      runRuntime({samples.package, "--feed=" + samples.feed, "--save=" + samples.init,
                  "--checkpoint=" + samples.checkpoint, "--quiet"},
                 log) == 0;
  if (made)
    return;
  std::cerr << "the samples cannot be made:\n" << readWhole(log);
  std::exit(2);
}
