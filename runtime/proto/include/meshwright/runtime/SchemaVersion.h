//===- SchemaVersion.h - the packages that are read -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_SCHEMAVERSION_H
#define MESHWRIGHT_RUNTIME_SCHEMAVERSION_H

#include <cstdint>

namespace meshwright::runtime {

/// The version of the schema that this runtime reads, the one that the compiler writes. It goes up where an older
/// runtime would run a newer package wrongly, or the other way round.
inline constexpr uint32_t schemaVersion = 8;

} // namespace meshwright::runtime

#endif
