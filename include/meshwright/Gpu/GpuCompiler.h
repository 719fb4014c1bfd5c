//===- GpuCompiler.h - compiles kernels to PTX and cubins --------*- C++ -*===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_GPU_GPUCOMPILER_H
#define MESHWRIGHT_GPU_GPUCOMPILER_H

#include "meshwright/Codegen/EpilogueTable.h"
#include "meshwright/Codegen/KernelCompiler.h"
#include "meshwright/Gpu/GpuKernelModule.h"
#include "package.pb.h"
#include "llvm/ADT/StringMap.h"
#include <map>

namespace meshwright::emit {

/// Compiles the kernels of a package for GPUs: `sm_90` and the like to PTX, and to a cubin where `ptxas` is found;
/// `emulated` to a shared object of the host's processor with the same functions.
class GpuCompiler {
public:
  /// Files go into `folder`, and what is in them into `package`. Errors and warnings are emitted at `location` or at a
  /// kernel.
  GpuCompiler(llvm::ArrayRef<KernelJob> jobs, const CodeCache &cache, llvm::StringRef folder, mlir::Location location,
              Package &package)
      : jobs(jobs), cache(cache), folder(folder.str()), location(location), package(package) {}

  /// True if `target` is `emulated` or one of NVIDIA's GPUs from sm_70 on that LLVM knows.
  static bool isKnownTarget(llvm::StringRef target);

  mlir::LogicalResult compile(llvm::StringRef target);
  /// A JSON report of the launches of the kernels, the resources that `ptxas` reports for their functions, and the
  /// epilogues of GEMMs.
  std::string printReport(const EpilogueTable &epilogues) const;
  /// The number of launches of each mapping, over all targets.
  std::map<std::string, int64_t> countMappings() const;

private:
  /// Resources that a function uses on a GPU.
  struct Usage {
    int64_t registers = 0, spillStores = 0, spillLoads = 0, stackBytes = 0;
  };
  /// The launches of every kernel for one target, and what their functions take where that is known.
  struct Target {
    std::string name;
    std::vector<llvm::SmallVector<LaunchedFunction>> launches;
    llvm::StringMap<Usage> usages;
  };

  mlir::LogicalResult emulate(Target &target);
  mlir::LogicalResult compileForNvidia(Target &target);
  mlir::LogicalResult assemble(Target &target, llvm::StringRef assembler, llvm::StringRef ptx);
  void readUsages(Target &target, llvm::StringRef text);
  void addLibrary(const Target &target, llvm::StringRef file, KernelLibrary::Format format);
  void warnOfSerial(const Target &target);

  llvm::ArrayRef<KernelJob> jobs;
  const CodeCache &cache;
  std::string folder;
  mlir::Location location;
  Package &package;
  std::vector<Target> targets;
  bool hasWarned = false;
};

} // namespace meshwright::emit

#endif
