//===- MpiTransport.cpp - messages of MPI ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MpiTransport.h"
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>

using namespace meshwright::runtime;
using namespace meshwright::runtime::mpi;
using namespace meshwright::runtime::processes;

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
  // Libraries that MPI opens itself expect to find MPI's symbols.
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
// MpiTransport
//===----------------------------------------------------------------------===//

MpiTransport::MpiTransport(const MwMpiFunctions &functions, const MwMpiProcess &process)
    : functions(functions), process(process) {}

Result<std::unique_ptr<MpiTransport>> MpiTransport::create() {
  MW_TRY_ASSIGN(MwMpiFunctions functions, openPlugin());
  MwMpiProcess process = {};
  if (int error = functions.initialize(&process)) {
    char text[256];
    functions.describe(error, text, sizeof(text));
    return faultError("MPI cannot be initialized: {}", text);
  }
  return std::unique_ptr<MpiTransport>(new MpiTransport(functions, process));
}

int MpiTransport::getTag(uint64_t number) const { return static_cast<int>(number % (uint64_t(process.maxTag) + 1)); }

Status MpiTransport::describeMismatch(int64_t ranks) const {
  // Where srun and MPI do not speak the same language, every process is alone.
  const char *tasks = std::getenv("SLURM_STEP_NUM_TASKS");
  if (getNumProcesses() == 1 && tasks && std::string_view(tasks) != "1")
    return usageError("the package is for {} ranks but MPI knows 1 process of the {} that SLURM has started; "
                      "srun --mpi=pmix lets them find each other",
                      ranks, tasks);
  return makeMismatch(ranks, fmt::format("mpirun -n {}", ranks));
}

Status MpiTransport::makeError(const char *what, int peer, int error) {
  char text[256];
  functions.describe(error, text, sizeof(text));
  return faultError("{} rank {} failed: {}", what, peer, text);
}

Status MpiTransport::post(Message &message, int tag) {
  std::lock_guard guard(mutex);
  int size = static_cast<int>(message.size);
  MwMpiRequest request = {};
  int error = message.isSend ? functions.send(message.bytes, size, message.peer, tag, &request)
                             : functions.receive(message.bytes, size, message.peer, tag, &request);
  message.handle = request.handle;
  return error ? makeError(message.isSend ? "sending to" : "receiving from", message.peer, error) : Status();
}

Result<bool> MpiTransport::test(Message &message) {
  int isOver = 0, count = 0;
  {
    std::lock_guard guard(mutex);
    MwMpiRequest request{message.handle};
    int error = functions.test(&request, &isOver, &count);
    message.handle = request.handle;
    if (error)
      return makeError(message.isSend ? "sending to" : "receiving from", message.peer, error);
  }
  if (isOver && !message.isSend && static_cast<uint64_t>(count) != message.size)
    return faultError("rank {} sent {} bytes where {} were expected", message.peer, count, message.size);
  return isOver != 0;
}

Result<std::optional<int>> MpiTransport::probe(int peer) {
  std::lock_guard guard(mutex);
  int isThere = 0, tag = 0;
  if (int error = functions.probe(peer, &isThere, &tag))
    return makeError("looking for messages of", peer, error);
  return isThere ? std::optional<int>(tag) : std::nullopt;
}

void MpiTransport::finalize() {
  std::lock_guard guard(mutex);
  (void)functions.finalize();
}
