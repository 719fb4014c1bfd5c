//===- Interrupt.h - stopping between steps ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TOOLS_DISTRUN_INTERRUPT_H
#define MESHWRIGHT_TOOLS_DISTRUN_INTERRUPT_H

namespace meshwright::tool {

/// From now on the first interrupt (control-C) or termination signal is only noted. The second one ends the process.
void stopAtInterrupts();

/// True if such a signal has come.
bool isInterrupted();
/// Lets signals also write to that eventfd; -1 for none.
void wakeAtInterrupts(int descriptor);

} // namespace meshwright::tool

#endif
