//===- CollectiveKind.h - the kinds of collectives --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The enumeration of the rows of Collectives.def, which TableGen cannot read.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECTS_DIST_COLLECTIVEKIND_H
#define MESHWRIGHT_DIALECTS_DIST_COLLECTIVEKIND_H

#include "meshwright/runtime/CollectiveTraits.h"
#include "mlir/IR/OpImplementation.h"

namespace meshwright::dist {

enum class CollectiveKind : uint32_t {
#define COLLECTIVE(KIND, PACKAGED, NAME, OPERATION, BEFORE, AFTER, CROSSINGS) KIND,
#include "meshwright/runtime/Collectives.def"
};

/// The row of a kind.
constexpr const CollectiveTraits &getTraits(CollectiveKind kind) { return kCollectives[static_cast<unsigned>(kind)]; }

/// The name of a kind: `c_allreduce`.
inline llvm::StringRef stringifyCollectiveKind(CollectiveKind kind) { return getTraits(kind).name; }

/// Parses the name of a kind; an error at the parser's place lists all of them.
mlir::FailureOr<CollectiveKind> parseCollectiveKind(mlir::AsmParser &parser);

} // namespace meshwright::dist

#endif
