//===- CompareProcesses.cpp - what all processes have in common -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each process contributes a text that stands for what it has: a command line, a hash, a sample of a file, the
// kernels' library. The first process compares them, and its verdict goes to all, so that no process starts a step
// alone.
//
//===----------------------------------------------------------------------===//

#include "CompareProcesses.h"
#include "ContentHash.h"
#include "meshwright/runtime/EscapeText.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <functional>
#include <oneapi/dnnl/dnnl.h>
#include <oneapi/dnnl/dnnl_debug.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::tool;

/// Compares what the processes have, as text; `explain(process, its text, text of the first)` makes the error.
static Status compare(World &world, const std::string &mine,
                      const std::function<Status(size_t, const std::string &, const std::string &)> &explain) {
  if (world.isAlone())
    return {};
  MW_TRY_ASSIGN(std::vector<Bytes> all, world.gatherForAll(std::as_bytes(std::span(mine))));
  auto getText = [](const Bytes &bytes) {
    return escapeText({reinterpret_cast<const char *>(bytes.data()), bytes.size()});
  };
  Status status;
  for (size_t process = 1; process != all.size() && status.ok(); ++process)
    if (all[process] != all[0])
      status = explain(process, getText(all[process]), getText(all[0]));
  MW_TRY(world.agree(status));
  return world.confirm(std::as_bytes(std::span(mine)));
}

Status meshwright::tool::compareCommands(const Options &options, World &world) {
  return compare(world, options.command, [](size_t process, const std::string &other, const std::string &first) {
    return usageError("all processes of a run have one command line, but process {} has \"{}\" and process 0 \"{}\"",
                      process, other, first);
  });
}

Status meshwright::tool::comparePackages(const LoadedPackage &package, World &world) {
  auto explain = [&](size_t process, const std::string &other, const std::string &first) {
    return inputError("all processes of a run have one package, but {} has hash {} at process {} and {} at process 0",
                      package.getFolder(), other, process, first);
  };
  return compare(world, formatHash(package.getHash()), explain);
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

/// The bytes that stand for a file: all, or those of places spread over it.
static Result<std::string> readSample(int descriptor, uint64_t size) {
  constexpr uint64_t whole = uint64_t(16) << 20, places = 64, piece = uint64_t(64) << 10;
  bool isWhole = size <= whole;
  std::string sample(isWhole ? size : places * piece, '\0');
  for (uint64_t done = 0; done != sample.size();) {
    uint64_t place = done / piece, inPiece = done % piece;
    uint64_t offset = isWhole ? done : (size - piece) / (places - 1) * place + inPiece;
    uint64_t count = isWhole ? size - done : piece - inPiece;
    ssize_t got = pread(descriptor, sample.data() + done, count, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return inputError("no file that can be read ({})", got == 0 ? "it has become shorter" : std::strerror(errno));
    done += static_cast<uint64_t>(got);
  }
  return sample;
}

std::string meshwright::tool::describeFile(const std::string &path) {
  // A pipe would keep a process waiting.
  int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0)
    return fmt::format("no file that can be opened ({})", std::strerror(errno));
  struct stat info = {};
  std::string text = "no regular file";
  if (fstat(descriptor, &info) == 0 && S_ISREG(info.st_mode)) {
    auto size = static_cast<uint64_t>(info.st_size);
    auto sample = readSample(descriptor, size);
    text = sample.ok() ? fmt::format("{} bytes with hash {}", size, formatHash(hashContent(*sample)))
                       : sample.status().message();
  }
  close(descriptor);
  return text;
}

static Status compareFile(const std::string &path, World &world) {
  // A feed per step has a name for each; standard input is of each process.
  if (path.empty() || path == "-" || path.find("{step}") != std::string::npos)
    return {};
  auto explain = [&](size_t process, const std::string &other, const std::string &first) {
    return inputError("all processes of a run read the same files, but {} is {} at process {} and {} at process 0",
                      path, other, process, first);
  };
  return compare(world, world.isAlone() ? "" : describeFile(path), explain);
}

Status meshwright::tool::compareFiles(const Options &options, World &world) {
  for (const std::string *path : {&options.init, &options.feed, &options.evalFeed})
    MW_TRY(compareFile(*path, world));
  for (const std::vector<DataSource> *sources : {&options.data, &options.evalData})
    for (const DataSource &source : *sources)
      MW_TRY(compareFile(source.seed ? "" : source.path, world));
  return {};
}

Status meshwright::tool::compareCheckpoints(const std::optional<Checkpoint> &checkpoint, World &world) {
  std::string mine = "no checkpoint";
  if (checkpoint && !world.isAlone())
    mine = fmt::format("{} of step {}, whose index is {}", checkpoint->getFolder(), checkpoint->getIndex().step,
                       describeFile(checkpoint->getFolder() + "/index.json"));
  return compare(world, mine, [](size_t process, const std::string &other, const std::string &first) {
    return inputError("all processes of a run go on from one checkpoint, but process {} has {} and process 0 {}",
                      process, other, first);
  });
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// Decides the bits of a step beside the package: the library of kernels, and how oneDNN computes products.
static std::string describeKernels(const Session &session) {
  std::string text = "no kernels";
  for (const KernelLibrary &library : session.getPackage().message().libraries())
    if (library.target() == session.getTarget())
      text = fmt::format("kernels for {} (hash {})", library.target(), formatHash(library.hash()));
  const dnnl_version_t &version = *dnnl_version();
  return fmt::format("{} and oneDNN {}.{}.{} for {}", text, version.major, version.minor, version.patch,
                     dnnl_cpu_isa2str(dnnl_get_effective_cpu_isa()));
}

Status meshwright::tool::compareKernels(const Session &session, const Options &options) {
  if (options.mixedKernels)
    return {};
  auto explain = [](size_t process, const std::string &other, const std::string &first) {
    return usageError(
        "process {} computes with {}, but process 0 with {}, so replicas would differ in their last bits; "
        "--kernels=TARGET and ONEDNN_MAX_CPU_ISA make them the same, --mixed-kernels allows it",
        process, other, first);
  };
  return compare(session.getWorld(), describeKernels(session), explain);
}
