//===- NcclGroup.cpp - meeting point of a group ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NcclGroup.h"
#include "Stub.h"
#include <atomic>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

using namespace meshwright::stub;

/// Zeros are its beginning: the first member that comes makes what zeros are not.
struct NcclGroup::Shared {
  static constexpr uint64_t bytes = 4096;

  std::atomic<uint32_t> begun, isReady;
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  uint32_t size, joined, arrived;
  uint64_t generation;
  bool isAborted, hasDisagreed;
};

namespace {

/// The lock of a group while this lives.
class Held {
public:
  explicit Held(pthread_mutex_t &mutex) : mutex(mutex) { pthread_mutex_lock(&mutex); }
  ~Held() { pthread_mutex_unlock(&mutex); }
  Held(const Held &) = delete;
  Held &operator=(const Held &) = delete;

private:
  pthread_mutex_t &mutex;
};

} // namespace

std::string NcclGroup::makeName() { return "/mw-nccl-" + std::to_string(getpid()) + "-" + std::to_string(makeId()); }

std::shared_ptr<NcclGroup> NcclGroup::join(const std::string &name, uint32_t size, uint32_t member) {
  // Pages that are never written take no memory.
  uint64_t bytes = Shared::bytes + size * maxBytes;
  int file = shm_open(name.c_str(), O_RDWR | O_CREAT, 0600);
  if (file < 0)
    return nullptr;
  void *address = ftruncate(file, static_cast<off_t>(bytes)) == 0
                      ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0)
                      : MAP_FAILED;
  close(file);
  if (address == MAP_FAILED)
    return nullptr;
  auto *shared = static_cast<Shared *>(address);
  if (shared->begun.exchange(1) == 0) {
    pthread_mutexattr_t mutexKind;
    pthread_mutexattr_init(&mutexKind);
    pthread_mutexattr_setpshared(&mutexKind, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&shared->mutex, &mutexKind);
    pthread_condattr_t changedKind;
    pthread_condattr_init(&changedKind);
    pthread_condattr_setpshared(&changedKind, PTHREAD_PROCESS_SHARED);
    pthread_cond_init(&shared->changed, &changedKind);
    shared->size = size;
    shared->isReady = 1;
  }
  while (shared->isReady == 0)
    std::this_thread::yield();
  Held held(shared->mutex);
  if (++shared->joined == size)
    shm_unlink(name.c_str());
  return std::shared_ptr<NcclGroup>(new NcclGroup(name, shared, bytes, member));
}

NcclGroup::~NcclGroup() {
  // Remove the name of a group whose members did not all arrive.
  if (!areAllThere())
    shm_unlink(name.c_str());
  munmap(shared, bytes);
}

uint32_t NcclGroup::getSize() const { return shared->size; }

bool NcclGroup::areAllThere() const {
  Held held(shared->mutex);
  return shared->joined == shared->size;
}

void NcclGroup::abort() {
  Held held(shared->mutex);
  shared->isAborted = true;
  pthread_cond_broadcast(&shared->changed);
}

void NcclGroup::noteDisagreement() {
  Held held(shared->mutex);
  shared->hasDisagreed = true;
}

bool NcclGroup::hasDisagreed() const {
  Held held(shared->mutex);
  return shared->hasDisagreed;
}

std::byte *NcclGroup::getPlace(uint32_t of) const {
  return reinterpret_cast<std::byte *>(shared) + Shared::bytes + of * maxBytes;
}

bool NcclGroup::meet() { return arrive(/*mayBeAborted=*/true); }
void NcclGroup::leave() { arrive(/*mayBeAborted=*/false); }

bool NcclGroup::arrive(bool mayBeAborted) {
  Held held(shared->mutex);
  if (mayBeAborted && shared->isAborted)
    return false;
  uint64_t before = shared->generation;
  if (++shared->arrived == shared->size) {
    shared->arrived = 0;
    ++shared->generation;
    pthread_cond_broadcast(&shared->changed);
  }
  while (shared->generation == before && !(mayBeAborted && shared->isAborted))
    pthread_cond_wait(&shared->changed, &shared->mutex);
  return shared->generation != before;
}
