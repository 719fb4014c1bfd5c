//===- Interrupt.cpp - stopping between steps -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Interrupt.h"
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <unistd.h>

static volatile std::sig_atomic_t interrupted = 0;

static volatile std::sig_atomic_t descriptorToWake = -1;

static void noteInterrupt(int) {
  int error = errno;
  interrupted = 1;
  const uint64_t one = 1;
  if (descriptorToWake >= 0)
    (void)!write(descriptorToWake, &one, sizeof(one));
  errno = error;
}

void meshwright::tool::stopAtInterrupts() {
  struct sigaction action = {};
  action.sa_handler = noteInterrupt;
  // Once: the next signal does what it does without a handler. What it meets goes on.
  action.sa_flags = SA_RESETHAND | SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

bool meshwright::tool::isInterrupted() { return interrupted; }

void meshwright::tool::wakeAtInterrupts(int descriptor) { descriptorToWake = descriptor; }
