//===- Enumerations.h - enumerations of the package -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Translates enumerations of the dialects to those of package.proto, case by case: the two number their cases
// independently.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_EMIT_ENUMERATIONS_H
#define MESHWRIGHT_LIB_EMIT_ENUMERATIONS_H

#include "dialects/Dist/Dist.h"
#include "dialects/Net/Net.h"
#include "package.pb.h"

namespace meshwright::emit {

Collective::Kind translate(dist::CollectiveKind kind);
Collective::Reduction translate(ReduceKind kind);
Variable::Kind translate(net::VariableKind kind);
Initializer::Kind translate(net::InitializerKind kind);
/// The element type of the schema; invalid where it has none.
DType getDType(mlir::Type element);

} // namespace meshwright::emit

#endif
