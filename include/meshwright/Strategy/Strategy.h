//===- Strategy.h - everything that is not the network ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_STRATEGY_STRATEGY_H
#define MESHWRIGHT_STRATEGY_STRATEGY_H

#include "dialects/Dist/Mesh.h"
#include "lib/Strategy/strategy.pb.h"
#include "llvm/Support/Error.h"

namespace meshwright::strategy {

/// Reads a strategy from protobuf text. Errors are one line each, `file:line:column: message`.
llvm::Expected<Strategy> parseStrategy(llvm::StringRef text, llvm::StringRef fileName);

/// Checks what can be checked without the graph (axes, sizes, numbers) and resolves an axis of size 0 from `ranks`,
/// which is 0 where the user did not say.
llvm::Error checkStrategy(Strategy &strategy, int64_t ranks);

/// The mesh of a checked strategy; without axes, one rank.
dist::Mesh getMesh(const Strategy &strategy);

/// A complete strategy with comments, as `--print-strategy` prints it.
llvm::StringRef getTemplate();

} // namespace meshwright::strategy

#endif
