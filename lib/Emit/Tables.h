//===- Tables.h - tables that programs share --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_EMIT_TABLES_H
#define MESHWRIGHT_LIB_EMIT_TABLES_H

#include "meshwright/Codegen/EpilogueTable.h"
#include "meshwright/Codegen/KernelCompiler.h"
#include "llvm/ADT/StringMap.h"

namespace meshwright::emit {

/// The kernels of a package, each once.
class KernelTable {
public:
  /// The name of the function that computes `kernel`, whose arguments lie at multiples of `alignment` bytes.
  llvm::StringRef getSymbol(dist::KernelOp kernel, int64_t alignment);
  llvm::ArrayRef<KernelJob> getJobs() const { return jobs; }

private:
  llvm::StringMap<unsigned> known;
  llvm::SmallVector<KernelJob> jobs;
};

/// The bytes of `constants.bin`, equal ones once.
class ConstantTable {
public:
  uint64_t add(mlir::ElementsAttr value);
  llvm::StringRef getBytes() const { return bytes; }

private:
  llvm::StringMap<uint64_t> known;
  std::string bytes;
};

/// Tables that the programs of a package share, and data for reports.
struct Tables {
  KernelTable kernels;
  ConstantTable constants;
  EpilogueTable epilogues;
};

} // namespace meshwright::emit

#endif
