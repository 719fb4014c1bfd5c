//===- Interrupt.cpp - stopping between steps -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Interrupt.h"
#include <csignal>

static volatile std::sig_atomic_t interrupted = 0;

static void noteInterrupt(int) { interrupted = 1; }

void meshwright::tool::stopAtInterrupts() {
  struct sigaction action = {};
  action.sa_handler = noteInterrupt;
  // Once: the next signal does what it does without a handler. What it meets goes on.
  action.sa_flags = SA_RESETHAND | SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

bool meshwright::tool::isInterrupted() { return interrupted; }
