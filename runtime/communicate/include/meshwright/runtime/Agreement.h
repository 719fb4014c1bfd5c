//===- Agreement.h - what the members of a group bring ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Members of a group have to do the same. A transport that is not asked to look does half of what both wanted and says
// that all is well, so every backend compares what its members bring, by these functions.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_AGREEMENT_H
#define MESHWRIGHT_RUNTIME_AGREEMENT_H

#include "meshwright/runtime/Communicator.h"
#include <span>

namespace meshwright::runtime {

/// As in messages: `c_allreduce #7 (grad/w, model.mlir:88)`.
std::string describe(const CollectiveCall &call);
/// As in messages: `rank 0: c_allreduce #7 (grad/w, model.mlir:88)`.
std::string describe(int64_t rank, const CollectiveCall &call);

/// Whether kinds, types, reductions, tags, counts and roots are the same; `calls` has what each of `members` brings.
/// The error names the first member and the first one that brings something else.
Status checkAgreement(std::span<const int64_t> members, std::span<const CollectiveCall *const> calls);

/// A number that is the same where `checkAgreement` finds no difference, and else, but for a chance of 2^-64, is not.
uint64_t getDigest(const CollectiveCall &call);

} // namespace meshwright::runtime

#endif
