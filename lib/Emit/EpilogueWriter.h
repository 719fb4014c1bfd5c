//===- EpilogueWriter.h - products with what comes behind -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_EMIT_EPILOGUEWRITER_H
#define MESHWRIGHT_LIB_EMIT_EPILOGUEWRITER_H

#include "dialects/Net/Loops.h"
#include "meshwright/Schedule/ProductEpilogue.h"
#include "package.pb.h"
#include <set>
#include <tuple>

namespace meshwright::emit {

/// What became of the products whose result is read right behind them, each once, for reports.
class EpilogueTable {
public:
  struct Entry {
    std::string product, location;
    /// `bias`, `gelu`, `bias gelu`, with `aux` where the sum is stored too; empty where the product has none.
    std::string epilogue;
    /// Why it has none.
    std::string reason;
    bool operator<(const Entry &other) const {
      return std::tie(product, location, epilogue, reason) <
             std::tie(other.product, other.location, other.epilogue, other.reason);
    }
  };

  void add(const Instruction &product, std::string epilogue, std::string reason);
  const std::set<Entry> &get() const { return entries; }

private:
  std::set<Entry> entries;
};

/// Adds to `product`, the instruction of `op`, what `kernel` behind it is as its epilogue, if Schedule has annotated it
/// as having one and memory allows it. `getBuffer` says where values are in `program`.
void addEpilogue(dist::MatmulOp op, dist::KernelOp kernel, const net::LoopNest &nest, const Program &program,
                 llvm::function_ref<uint32_t(mlir::Value)> getBuffer, Instruction &product, EpilogueTable &table);

} // namespace meshwright::emit

#endif
