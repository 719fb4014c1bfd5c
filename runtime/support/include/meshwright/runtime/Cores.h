//===- Cores.h - processors that a process may use --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_CORES_H
#define MESHWRIGHT_RUNTIME_CORES_H

#include <optional>
#include <string>
#include <string_view>

namespace meshwright::runtime {

/// The processors that this process may keep busy: those that its affinity names, or fewer if its control group limits
/// the time that it gets, as containers do. At least 1. Threads beyond that would wait for each other, since the limit
/// stops all of them.
unsigned getNumCores();

/// The processors' worth of time that control groups leave to their member: the least of its group and those around it,
/// in both versions. `root` is the folder of all groups (`/sys/fs/cgroup`), `membership` the text of
/// `/proc/self/cgroup`. Nothing if there is no limit. Groups whose files cannot be read have none.
std::optional<double> readCoreLimit(const std::string &root, std::string_view membership);

} // namespace meshwright::runtime

#endif
