//===- Threads.cpp - threads that compute for a rank ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The threads are those of the OpenMP runtime that oneDNN brings along: a second pool beside it would compete for the
// cores with threads that spin there after each product. Which runtime it is, is oneDNN's business, so its functions
// are looked up by name. `GOMP_parallel` is the entry point that GCC compiles parallel regions to; LLVM's runtime has
// it as well. Where there is none, one thread does everything.
//
//===----------------------------------------------------------------------===//

#include "Threads.h"
#include "meshwright/runtime/Cores.h"
#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <pmmintrin.h>

using namespace meshwright::runtime;

namespace {

struct OpenMP {
  void (*setNumThreads)(int);
  int (*getMaxThreads)();
  int (*getThread)();
  int (*getNumThreads)();
  void (*parallel)(void (*work)(void *), void *data, unsigned threads, unsigned flags);

  OpenMP() {
    find(setNumThreads, "omp_set_num_threads");
    find(getMaxThreads, "omp_get_max_threads");
    find(getThread, "omp_get_thread_num");
    find(getNumThreads, "omp_get_num_threads");
    find(parallel, "GOMP_parallel");
  }
  bool canDivide() const { return getThread && getNumThreads && parallel; }

  static const OpenMP &get() {
    static const OpenMP found;
    return found;
  }

private:
  template <typename Function> static void find(Function &function, const char *name) {
    function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
  }
};

struct Parts {
  void (*work)(void *data, int part, int parts);
  void *data;
};

} // namespace

void meshwright::runtime::flushDenormals() {
  _MM_SET_FLUSH_ZERO_MODE(_MM_FLUSH_ZERO_ON);
  _MM_SET_DENORMALS_ZERO_MODE(_MM_DENORMALS_ZERO_ON);
}

void meshwright::runtime::setLibraryThreads(int count) {
  if (auto set = OpenMP::get().setNumThreads)
    set(count);
}

LibraryThreads::LibraryThreads(int count) : before(count) {
  if (auto get = OpenMP::get().getMaxThreads)
    before = get();
  setLibraryThreads(count);
}

int meshwright::runtime::getNumParts(int threads) { return OpenMP::get().canDivide() ? std::max(threads, 1) : 1; }

int meshwright::runtime::getUsualThreads(int64_t ranksOfHost) {
  if (const char *wanted = std::getenv("OMP_NUM_THREADS"))
    if (int threads = std::atoi(wanted); threads > 0)
      return threads;
  return static_cast<int>(std::max<int64_t>(getNumCores() / ranksOfHost, 1));
}

void meshwright::runtime::runParts(int threads, void (*work)(void *data, int part, int parts), void *data) {
  if (getNumParts(threads) == 1)
    return work(data, 0, 1);
  Parts all = {work, data};
  auto runPart = [](void *shared) {
    const Parts &all = *static_cast<const Parts *>(shared);
    all.work(all.data, OpenMP::get().getThread(), OpenMP::get().getNumThreads());
  };
  OpenMP::get().parallel(runPart, &all, static_cast<unsigned>(threads), 0);
}
