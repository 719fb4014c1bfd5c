//===- StepSpan.h - what a step consists of ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_STEPSPAN_H
#define MESHWRIGHT_RUNTIME_STEPSPAN_H

#include "meshwright/runtime/Session.h"

namespace meshwright::runtime {

/// A piece of a step: computation, a collective (planned from when all members have come to it, measured from when the
/// rank has), a copy from the host or to it, or how long a rank's computation stands still for a collective or copy.
struct StepSpan {
  enum Kind { Compute, Collective, Wait, Fetch, WriteBack } kind;
  int64_t rank;
  const Instruction *instruction;
  const Task *task; ///< of which the instruction is one
  uint32_t microBatch;
  double begin, end; ///< seconds from the step's beginning
  double bytes = 0;  ///< of a collective: what a rank sends; of a copy: its bytes
  int64_t peer = -1; ///< of a send: the rank at its other end
  /// So many threads of the rank were at work at the same time, and number `thread` of them did this.
  uint32_t thread = 0, numThreads = 1;

  /// The part of the rank's time that it takes, in seconds.
  double getSeconds() const { return (end - begin) / numThreads; }
};

/// The bytes that a rank sends in a collective in which it takes part, and the rank at the other end if it is a send,
/// else -1.
double getSentBytes(const Collective &collective, const Mesh &mesh, int64_t rank);
int64_t getPeer(const Collective &collective, const Mesh &mesh, int64_t rank);

} // namespace meshwright::runtime

#endif
