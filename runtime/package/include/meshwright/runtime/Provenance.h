//===- Provenance.h - the instructions that a value comes from --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_PROVENANCE_H
#define MESHWRIGHT_RUNTIME_PROVENANCE_H

#include "meshwright/runtime/Package.h"

namespace meshwright::runtime {

/// The collectives that the contents of a buffer come from at the end of a step at that position of an accumulation,
/// with no other collective between, the last one first: `c_allreduce #17 (h.1.w, model.mlir:3)`. Slots of a buffer are
/// taken for one.
std::vector<std::string> findLastCollectives(const Program &program, uint32_t position, uint32_t buffer);

} // namespace meshwright::runtime

#endif
