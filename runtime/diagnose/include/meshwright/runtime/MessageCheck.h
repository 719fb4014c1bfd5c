//===- MessageCheck.h - whether messages arrive as they were sent *- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_MESSAGECHECK_H
#define MESHWRIGHT_RUNTIME_MESSAGECHECK_H

#include "meshwright/runtime/Communicator.h"

namespace meshwright::runtime {

/// Lets a checksum travel with everything that a rank contributes, on any backend whose ranks have their buffers in the
/// memory of the host; who gets it compares. A difference is an error that names both ranks and the collective.
///
/// A collective that only moves data has its checksums as a further part. A reduction becomes moves: members exchange
/// their slices of the operands, reduce them in order, and gather the results, so that every byte that travels is
/// covered and the bits are those of the backend's own reduction. Started collectives are over when `start` returns.
/// That costs time and the memory of a copy of each reduced operand and result.
std::unique_ptr<Backend> checkMessages(std::unique_ptr<Backend> backend);

} // namespace meshwright::runtime

#endif
