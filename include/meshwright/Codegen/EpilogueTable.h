//===- EpilogueTable.h - which products have an epilogue --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_CODEGEN_EPILOGUETABLE_H
#define MESHWRIGHT_CODEGEN_EPILOGUETABLE_H

#include "package.pb.h"
#include <set>
#include <string>
#include <tuple>

namespace meshwright::emit {

/// The decision on every GEMM whose result is read directly after it, each once, for reports.
class EpilogueTable {
public:
  struct Entry {
    std::string product, location;
    /// `bias`, `gelu`, `bias gelu`, with `aux` if the sum is stored too; empty if the GEMM has no epilogue.
    std::string epilogue;
    /// The reason why it has none.
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

} // namespace meshwright::emit

#endif
