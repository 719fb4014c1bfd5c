//===- Describe.h - collectives as bytes ------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_BACKEND_PROCESSES_DESCRIBE_H
#define MESHWRIGHT_RUNTIME_BACKEND_PROCESSES_DESCRIBE_H

#include "Post.h"

namespace meshwright::runtime::processes {

/// A member's call, without its buffers and its group.
std::string pack(const CollectiveCall &call);
CollectiveCall unpack(const std::string &bytes);

/// The calls of all members of a group, in their order, on the first member; nothing on the others.
Result<std::vector<CollectiveCall>> gatherCalls(Post &post, const CollectiveCall &call, uint64_t member, int tag);

} // namespace meshwright::runtime::processes

#endif
