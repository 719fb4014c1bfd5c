//===- FailingSystem.cpp - a system that refuses a call -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loaded before the C library (LD_PRELOAD), lets one call of one function fail, as on a machine without descriptors,
// processes or entropy left:
//
//   MESHWRIGHT_FAILING=pipe2:1   the first call of pipe2 fails
//
// `poll` waits in vain, and `recv` finds the connection closed.
//
//===----------------------------------------------------------------------===//

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <poll.h>
#include <string>
#include <sys/types.h>

namespace {

/// Whether this call of `name` is the one that fails.
bool fails(const char *name, std::atomic<int> &calls) {
  const char *chosen = std::getenv("MESHWRIGHT_FAILING");
  size_t length = std::strlen(name);
  if (!chosen || std::strncmp(chosen, name, length) != 0 || chosen[length] != ':')
    return false;
  return ++calls == std::atoi(chosen + length + 1);
}

template <typename Function> Function *getReal(const char *name) {
  return reinterpret_cast<Function *>(dlsym(RTLD_NEXT, name));
}

} // namespace

extern "C" {

int eventfd(unsigned count, int flags) {
  static std::atomic<int> calls;
  return fails("eventfd", calls) ? (errno = EMFILE, -1) : getReal<int(unsigned, int)>("eventfd")(count, flags);
}

ssize_t getrandom(void *bytes, size_t size, unsigned flags) {
  static std::atomic<int> calls;
  return fails("getrandom", calls) ? (errno = ENOSYS, -1)
                                   : getReal<ssize_t(void *, size_t, unsigned)>("getrandom")(bytes, size, flags);
}

int pipe2(int *ends, int flags) {
  static std::atomic<int> calls;
  return fails("pipe2", calls) ? (errno = EMFILE, -1) : getReal<int(int *, int)>("pipe2")(ends, flags);
}

pid_t fork(void) {
  static std::atomic<int> calls;
  return fails("fork", calls) ? (errno = EAGAIN, -1) : getReal<pid_t(void)>("fork")();
}

int unlinkat(int folder, const char *path, int flags) {
  static std::atomic<int> calls;
  return fails("unlinkat", calls) ? (errno = EIO, -1)
                                  : getReal<int(int, const char *, int)>("unlinkat")(folder, path, flags);
}

int poll(pollfd *wanted, nfds_t number, int milliseconds) {
  static std::atomic<int> calls;
  return fails("poll", calls) ? 0 : getReal<int(pollfd *, nfds_t, int)>("poll")(wanted, number, milliseconds);
}

ssize_t recv(int socket, void *bytes, size_t size, int flags) {
  static std::atomic<int> calls;
  return fails("recv", calls) ? 0 : getReal<ssize_t(int, void *, size_t, int)>("recv")(socket, bytes, size, flags);
}
}
