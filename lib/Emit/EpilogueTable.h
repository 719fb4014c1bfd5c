//===- EpilogueTable.h - which products have an epilogue --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_EMIT_EPILOGUETABLE_H
#define MESHWRIGHT_LIB_EMIT_EPILOGUETABLE_H

#include "package.pb.h"
#include <set>
#include <string>
#include <tuple>

namespace meshwright::emit {

/// The products whose result is read by the next kernel, each once, with the epilogue that they got or the reason
/// why they have none. For reports.
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

} // namespace meshwright::emit

#endif
