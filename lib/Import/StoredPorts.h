//===- StoredPorts.h - how an exported module stores values -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A module that Export writes begins with a comment, `// {"arguments": [...], ...}`, which says for every argument and
// result what value it is and how its array stores it: digits of a dimension are dimensions of their own, uneven parts
// are padded, and ranks that hold a value differently have an element each of a first dimension. On a rank, such an
// array has the elements of its part of the value in the same order.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_IMPORT_STOREDPORTS_H
#define MESHWRIGHT_LIB_IMPORT_STOREDPORTS_H

#include "dialects/Dist/Placement.h"
#include "mlir/IR/BuiltinOps.h"

namespace meshwright::importer {

/// An argument or result of an exported module.
struct StoredPort {
  /// The value's dims mapping, and its shape.
  dist::MappingAttr mapping;
  llvm::SmallVector<int64_t> shape;
  /// The number of steps or micro-batches, if the argument is the number of one.
  std::optional<int64_t> count;
};

/// The arguments and results of an exported module, in their order.
struct StoredPorts {
  llvm::SmallVector<StoredPort, 0> arguments, results;
};

/// Parses `header`, the JSON of the comment. Emits an error at `location` where it is none that Export writes for a
/// module; whether placements fit a mesh is not checked.
mlir::FailureOr<StoredPorts> parseStoredPorts(llvm::StringRef header, mlir::Location location);

} // namespace meshwright::importer

#endif
