//===- Transport.cpp - messages between processes -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Transport.h"
#include <algorithm>
#include <dlfcn.h>
#include <filesystem>
#include <thread>

using namespace meshwright::runtime;
using namespace meshwright::runtime::mpi;

//===----------------------------------------------------------------------===//
// The plugin
//===----------------------------------------------------------------------===//

/// Beside the libraries of an installed dist-run, or of the folder that it was built in.
static std::string findPlugin() {
  std::error_code error;
  std::filesystem::path folder = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  for (const char *place : {".", "../lib", "../../lib"}) {
    std::filesystem::path path = folder / place / "libmeshwright_mpi.so";
    if (std::filesystem::exists(path, error))
      return path.lexically_normal();
  }
  return "";
}

Result<MwMpiFunctions> mpi::openPlugin() {
  std::string path = findPlugin();
  if (path.empty())
    return usageError("this build has no MPI backend: it was configured without MPI (no libmeshwright_mpi.so)");
  // What MPI opens itself expects to find MPI's symbols.
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (!library)
    return usageError("the MPI backend cannot be opened: {}", dlerror());
  auto *getFunctions = reinterpret_cast<decltype(&mw_mpi_get_functions)>(dlsym(library, "mw_mpi_get_functions"));
  if (!getFunctions)
    return usageError("{} is not the MPI backend: {}", path, dlerror());
  MwMpiFunctions functions;
  getFunctions(&functions);
  return functions;
}

//===----------------------------------------------------------------------===//
// Patience
//===----------------------------------------------------------------------===//

void Patience::wait() {
  using namespace std::chrono_literals;
  // Asking MPI takes about as long as asking for the time.
  if (++calls % 16 != 0 && elapsed < spinTime)
    return;
  Clock::time_point now = Clock::now();
  if (begin == Clock::time_point())
    begin = now;
  elapsed = now - begin;
  // Who yields stands behind all others; who sleeps is woken before them. An eighth of the time at most is lost by
  // sleeping too long.
  if (elapsed >= spinTime)
    std::this_thread::sleep_for(std::clamp<Clock::duration>(elapsed / 8, 5us, 1ms));
}

//===----------------------------------------------------------------------===//
// Transport
//===----------------------------------------------------------------------===//

Transport::Transport(const MwMpiFunctions &functions, const MwMpiProcess &process)
    : functions(functions), process(process) {}

Result<std::unique_ptr<Transport>> Transport::create() {
  MW_TRY_ASSIGN(MwMpiFunctions functions, openPlugin());
  MwMpiProcess process = {};
  if (int error = functions.initialize(&process)) {
    char text[256];
    functions.describe(error, text, sizeof(text));
    return faultError("MPI cannot be initialized: {}", text);
  }
  return std::unique_ptr<Transport>(new Transport(functions, process));
}

bool Transport::isCrowded(unsigned threads) const {
  return threads * static_cast<unsigned>(process.numLocal) > std::thread::hardware_concurrency();
}

int Transport::getTag(uint64_t number) const { return static_cast<int>(number % (uint64_t(process.maxTag) + 1)); }

Status Transport::makeError(const char *what, int peer, int error) {
  char text[256];
  functions.describe(error, text, sizeof(text));
  return faultError("{} rank {} failed: {}", what, peer, text);
}

Status Transport::post(Message &message, int tag) {
  std::lock_guard guard(mutex);
  int size = static_cast<int>(message.size);
  int error = message.isSend ? functions.send(message.bytes, size, message.peer, tag, &message.request)
                             : functions.receive(message.bytes, size, message.peer, tag, &message.request);
  return error ? makeError(message.isSend ? "sending to" : "receiving from", message.peer, error) : Status();
}

Result<bool> Transport::test(Message &message) {
  int isOver = 0, count = 0;
  {
    std::lock_guard guard(mutex);
    if (int error = functions.test(&message.request, &isOver, &count))
      return makeError(message.isSend ? "sending to" : "receiving from", message.peer, error);
  }
  if (isOver && !message.isSend && static_cast<uint64_t>(count) != message.size)
    return faultError("rank {} sent {} bytes where {} were expected", message.peer, count, message.size);
  return isOver != 0;
}

Result<std::optional<int>> Transport::probe(int peer) {
  std::lock_guard guard(mutex);
  int isThere = 0, tag = 0;
  if (int error = functions.probe(peer, &isThere, &tag))
    return makeError("looking for messages of", peer, error);
  return isThere ? std::optional<int>(tag) : std::nullopt;
}

Status Transport::finalize() {
  std::lock_guard guard(mutex);
  if (int error = functions.finalize())
    return makeError("ending MPI with", process.process, error);
  return {};
}
