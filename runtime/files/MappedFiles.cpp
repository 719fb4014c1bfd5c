//===- MappedFiles.cpp - memory that is the content of a file -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A file that loses bytes while it is mapped makes the system send SIGBUS to the thread that touches them. The handler
// looks the address up in a list that it can read at any time: entries are added at the front and stay, an entry that
// is free has no bytes, and the path of one that has is not touched as long as it has them.
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/MappingWatch.h"
#include "meshwright/runtime/Status.h"
#include <array>
#include <atomic>
#include <climits>
#include <csignal>
#include <cstring>
#include <mutex>
#include <string_view>
#include <unistd.h>

using namespace meshwright::runtime;

namespace {

struct Entry {
  std::atomic<const std::byte *> begin = nullptr, end = nullptr;
  std::string path;
  Entry *next = nullptr;
};

} // namespace

/// Threads that add and remove entries wait for one another; the handler waits for nothing.
static std::mutex listMutex;
static std::atomic<Entry *> list = nullptr;

/// The entry whose bytes end at `end`; null where there is none.
static Entry *findEntry(const std::byte *end) {
  Entry *entry = list;
  while (entry && entry->end != end)
    entry = entry->next;
  return entry;
}

void meshwright::runtime::watchMapping(std::span<const std::byte> bytes, const std::string &path) {
  std::lock_guard lock(listMutex);
  Entry *entry = findEntry(nullptr);
  bool isNew = !entry;
  if (isNew)
    entry = new Entry;
  entry->path = path;
  entry->begin = bytes.data();
  entry->end = bytes.data() + bytes.size();
  if (!isNew)
    return;
  entry->next = list;
  list = entry;
}

void meshwright::runtime::forgetMapping(std::span<const std::byte> bytes) {
  std::lock_guard lock(listMutex);
  if (Entry *entry = findEntry(bytes.data() + bytes.size()))
    entry->end = nullptr;
}

static struct sigaction previousAction;
static const char *toolName = "";
static std::atomic_flag isReported;

/// Writes a message in one piece, so that those of other threads and processes do not come between.
static void report(std::string_view path) {
  std::array<char, 2 * PATH_MAX> text;
  size_t size = 0;
  for (std::string_view part : {std::string_view(toolName), std::string_view(": error: "), path,
                                std::string_view(" became shorter while it was read\n")}) {
    part = part.substr(0, text.size() - size);
    std::memcpy(text.data() + size, part.data(), part.size());
    size += part.size();
  }
  (void)!write(STDERR_FILENO, text.data(), size);
}

static void onBusError(int signal, siginfo_t *info, void *) {
  const auto *address = static_cast<const std::byte *>(info->si_addr);
  for (const Entry *entry = list; entry; entry = entry->next)
    if (info->si_code > 0 && entry->begin <= address && address < entry->end) {
      // One thread speaks for the process and ends it; others that meet the same file wait for that.
      while (isReported.test_and_set())
        pause();
      report(entry->path);
      _exit(static_cast<int>(Code::Fault));
    }
  // A fault somewhere else is what it was without this handler: it happens again, and a signal that was sent is.
  sigaction(SIGBUS, &previousAction, nullptr);
  if (info->si_code <= 0)
    raise(signal);
}

void meshwright::runtime::exitWhereFilesShrink(const char *tool) {
  toolName = tool;
  struct sigaction action = {};
  action.sa_sigaction = onBusError;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGBUS, &action, &previousAction);
}
