//===- Owners.h - which ranks compute what has an owner ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_COMPLETE_OWNERS_H
#define MESHWRIGHT_LIB_COMPLETE_OWNERS_H

#include "Graph.h"

namespace meshwright::complete {

/// Gives operations that work on values with an owner to that owner, in the attributes that completion has written:
/// there the axes of the supports are replicated, or partial where a value is about to be reduced. Linear in the number
/// of operations; does nothing where nothing has an owner.
void spreadOwners(const Graph &graph);

} // namespace meshwright::complete

#endif
