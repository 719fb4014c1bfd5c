//===- KernelCompiler.h - compiles kernels to a shared object ----*- C++ -*===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_CODEGEN_KERNELCOMPILER_H
#define MESHWRIGHT_CODEGEN_KERNELCOMPILER_H

#include "dialects/Dist/Dist.h"
#include "meshwright/Codegen/CodeCache.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/SmallVector.h"
#include <string>

namespace llvm {
class Module;
class TargetMachine;
enum class CodeGenFileType;
} // namespace llvm

namespace meshwright::emit {

/// A kernel to compile, and the name of its function.
struct KernelJob {
  dist::KernelOp kernel;
  std::string symbol;
  /// Threads of a CPU divide the kernel if its arguments have so many bytes: below, starting them takes as long.
  int64_t leastDividedBytes = 32 << 10;
  /// A power of two that the addresses of the arguments are multiples of, in all calls.
  int64_t alignment = 64;
};

/// Compiles `jobs` for `target` (`x86-64-v3`, `native`), as many at a time as the context has threads, and links them
/// into the shared object `path`. Errors are emitted at `location` or at the kernel.
mlir::LogicalResult compileKernels(llvm::ArrayRef<KernelJob> jobs, llvm::StringRef target, const CodeCache &cache,
                                   llvm::StringRef path, mlir::Location location);

/// Builds the module of a kernel, by its number; null where that fails, which has been said.
using ModuleBuilder = llvm::function_ref<mlir::OwningOpRef<mlir::ModuleOp>(size_t)>;

/// Compiles as many modules for the CPU `target`, and links them into the shared object `path`.
mlir::LogicalResult compileSharedObject(size_t count, ModuleBuilder build, llvm::StringRef target,
                                        const CodeCache &cache, llvm::StringRef path, mlir::Location location);

/// The code that LLVM generates from `module` for `machine`, or has generated before; the module is changed.
mlir::FailureOr<std::string> generateCode(llvm::Module &module, llvm::TargetMachine &machine,
                                          llvm::CodeGenFileType type, const CodeCache &cache,
                                          llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

/// The targets of kernels for the exact check and for the twin of the serial program.
inline constexpr llvm::StringLiteral kExactTarget = "exact", kTwinTarget = "twin";

/// The same for one of these targets, with `scale` bytes of memory for each byte of an element.
mlir::LogicalResult compileCheckKernels(llvm::ArrayRef<KernelJob> jobs, llvm::StringRef target, int64_t scale,
                                        const CodeCache &cache, llvm::StringRef path, mlir::Location location);

/// True if `target` is `native`, `exact`, `twin` or a 64-bit processor that LLVM knows by this name.
bool isKnownTarget(llvm::StringRef target);

/// The CPU features that code for `target` needs, by LLVM's names.
llvm::SmallVector<std::string> getCpuFeatures(llvm::StringRef target);

} // namespace meshwright::emit

#endif
