//===- Threads.h - threads that compute for a rank --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_DEVICES_CPU_THREADS_H
#define MESHWRIGHT_RUNTIME_DEVICES_CPU_THREADS_H

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace meshwright::runtime {

/// Lets the calling thread, and all that it starts afterwards, take numbers smaller than the least normal one for zeros,
/// in operands and in results: processors compute with them many times slower.
void flushDenormals();

/// Sets the number of threads that oneDNN uses for work of the calling thread.
void setLibraryThreads(int count);

/// The number of threads that oneDNN uses for work of the calling thread while this lives.
class LibraryThreads {
public:
  explicit LibraryThreads(int count);
  ~LibraryThreads() { setLibraryThreads(before); }
  LibraryThreads(const LibraryThreads &) = delete;
  LibraryThreads &operator=(const LibraryThreads &) = delete;

private:
  int before;
};

/// The number of parts that `runParts` has where so many threads are wanted.
int getNumParts(int threads);

/// The number of threads for each of so many ranks of this host: OMP_NUM_THREADS, or else a rank's share of the cores,
/// at least 1.
int getUsualThreads(int64_t ranksOfHost);

/// Calls `work(data, part, parts)` for every part on a thread of its own, the calling one among them; `parts` is at
/// most `threads`. The threads are those that oneDNN has for the calling thread. Returns when all are done.
void runParts(int threads, void (*work)(void *data, int part, int parts), void *data);

/// Divides [0, count) into a neighbouring range for each thread, which begins at a multiple of `grain`, and calls
/// `work(part, begin, end)` for each on its thread; parts count from 0 and are fewer than `threads`.
template <typename Work> void divide(int threads, int64_t count, int64_t grain, Work &&work) {
  struct Division {
    int64_t count, grain;
    std::remove_reference_t<Work> &work;
  } division = {count, grain, work};
  int64_t grains = (count - 1) / grain + 1;
  auto runPart = [](void *data, int part, int parts) {
    auto &[count, grain, work] = *static_cast<Division *>(data);
    int64_t grains = (count - 1) / grain + 1, begin = grains * part / parts, end = grains * (part + 1) / parts;
    if (begin != end)
      work(part, begin * grain, std::min(count, end * grain));
  };
  runParts(static_cast<int>(std::min<int64_t>(threads, grains)), runPart, &division);
}

} // namespace meshwright::runtime

#endif
