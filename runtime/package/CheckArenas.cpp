//===- CheckArenas.cpp - arenas no larger than their content --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The compiler makes arenas as large as their buffers need. A larger one is a damaged package: it says so here, before
// the system is asked for memory that it may not have.
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/Package.h"
#include "meshwright/runtime/Slots.h"
#include <algorithm>

using namespace meshwright;
using namespace meshwright::runtime;

namespace {

/// Offsets are multiples of so many bytes at most; the end of an arena may be rounded to them.
constexpr uint64_t alignment = 4096;

/// The bytes up to the end of the last buffer, of the device's arena and of the host's.
struct Extents {
  uint64_t device = 0, host = 0;

  void add(const Program &program) {
    device = std::max(device, program.persistent_bytes());
    for (const Buffer &buffer : program.buffers()) {
      uint64_t &extent = buffer.memory() == HOST ? host : device;
      extent = std::max(extent, buffer.offset() + getExtent(buffer));
    }
  }

  Status check(const Program &program, const std::string &name) const {
    MW_TRY(check(program.arena_bytes(), device, "arena").within(name));
    return check(program.host_arena_bytes(), host, "host arena").within(name);
  }

private:
  static Status check(uint64_t bytes, uint64_t extent, const char *arena) {
    if (bytes <= extent || bytes - extent < alignment)
      return {};
    return inputError("the {} has {} bytes, but the last buffer ends at {}", arena, bytes, extent);
  }
};

} // namespace

Status meshwright::runtime::checkArenas(const meshwright::Package &package) {
  // Programs that share variables share an arena, and where ranks have one program in training and two in evaluation,
  // the largest counts for all of them.
  Extents parallel, serial;
  auto addAll = [&](const auto &content) {
    for (const Program &program : content.programs())
      parallel.add(program);
    if (content.has_serial())
      serial.add(content.serial());
  };
  addAll(package);
  if (package.has_evaluation())
    addAll(package.evaluation());
  for (int i = 0; i != package.programs_size(); ++i)
    MW_TRY(parallel.check(package.programs(i), fmt::format("program {}", i)));
  return package.has_serial() ? serial.check(package.serial(), "serial program") : Status();
}
