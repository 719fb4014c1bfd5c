//===- CodeCache.h - machine code, by what it was compiled from -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_CODEGEN_CODECACHE_H
#define MESHWRIGHT_CODEGEN_CODECACHE_H

#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace meshwright::emit {

/// A folder of machine code that was compiled before. Several processes may use one folder at a time.
class CodeCache {
public:
  /// Uses `folder`, which is made when it is first written; an empty one for no cache.
  explicit CodeCache(llvm::StringRef folder) : folder(folder.str()) {}
  /// Removes the oldest entries of a folder that has grown too large, at most every 20 minutes.
  ~CodeCache();
  CodeCache(const CodeCache &) = delete;
  CodeCache &operator=(const CodeCache &) = delete;

  /// The key of what `machine` makes of `module`: a hash of the module, the machine and LLVM itself. Empty where there
  /// is no cache, or nothing identifies LLVM.
  std::string getKey(const llvm::Module &module, const llvm::TargetMachine &machine) const;
  /// The code stored under `key`; nothing where there is none, or it is damaged.
  std::optional<std::string> load(llvm::StringRef key) const;
  /// Stores `code` under `key`. A cache that cannot be written stays as it is: it never keeps a program from compiling.
  void store(llvm::StringRef key, llvm::StringRef code) const;

private:
  std::string getPath(llvm::StringRef key) const;

  std::string folder;
};

} // namespace meshwright::emit

#endif
