//===- Package.cpp - from scheduled programs to a package -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Content first, so that nothing is written for programs that a package cannot hold; then kernels and files, into a
// folder that takes the package's name when it is complete (PackageFolder.h).
//
//===----------------------------------------------------------------------===//

#include "ContentHash.h"
#include "PackageContent.h"
#include "PackageFolder.h"
#include "meshwright/Gpu/GpuCompiler.h"
#include "meshwright/Codegen/KernelCompiler.h"
#include "meshwright/Codegen/KernelModule.h"
#include "meshwright/Emit/Emit.h"
#include "meshwright/runtime/Residue.h"
#include "meshwright/runtime/SchemaVersion.h"
#include "mlir/IR/Threading.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::emit;

namespace {

class PackageWriter {
public:
  PackageWriter(ModuleOp module, ModuleOp serial, const EmitOptions &options)
      : module(module), serial(serial), options(options), cache(options.kernelCache) {}

  LogicalResult write();

private:
  LogicalResult writeContent();
  LogicalResult writeEvaluation();
  LogicalResult compileForCpu(StringRef folder, StringRef target);
  LogicalResult hashFiles(StringRef folder);
  LogicalResult writeFiles(StringRef folder);
  LogicalResult writeFile(StringRef path, StringRef bytes);
  InFlightDiagnostic error() { return emitError(module.getLoc()); }

  ModuleOp module, serial;
  const EmitOptions &options;
  CodeCache cache;
  Package package;
  Tables tables;
};

} // namespace

LogicalResult PackageWriter::writeContent() {
  package.set_version(runtime::schemaVersion);
  package.set_producer(options.producer);
  if (failed(ContentWriter(module, serial, tables, package).write(options.metrics)))
    return failure();
  return options.evaluation ? writeEvaluation() : success();
}

/// Lets two programs that share their variables have arenas of one size.
static void unite(Program &first, Program &second) {
  uint64_t bytes = std::max(first.arena_bytes(), second.arena_bytes());
  uint64_t hostBytes = std::max(first.host_arena_bytes(), second.host_arena_bytes());
  for (Program *program : {&first, &second}) {
    program->set_arena_bytes(bytes);
    program->set_host_arena_bytes(hostBytes);
  }
}

/// Each rank has one arena for both its programs. Where ranks share the one and not the other, what one of them needs
/// counts for all.
LogicalResult PackageWriter::writeEvaluation() {
  const EvaluationPrograms &given = *options.evaluation;
  Package &evaluation = *package.mutable_evaluation();
  if (failed(ContentWriter(given.module, given.serial, tables, evaluation).write(given.metrics)))
    return failure();
  package.set_evaluate_every(given.every);
  bool changes = true;
  while (std::exchange(changes, false))
    for (int rank = 0; rank < package.program_of_rank_size(); ++rank) {
      Program &trained = *package.mutable_programs(package.program_of_rank(rank));
      Program &evaluated = *evaluation.mutable_programs(evaluation.program_of_rank(rank));
      changes |= trained.arena_bytes() != evaluated.arena_bytes() ||
                 trained.host_arena_bytes() != evaluated.host_arena_bytes();
      unite(trained, evaluated);
    }
  if (package.has_serial() && evaluation.has_serial())
    unite(*package.mutable_serial(), *evaluation.mutable_serial());
  return success();
}

LogicalResult PackageWriter::writeFile(StringRef path, StringRef bytes) {
  std::error_code code;
  llvm::raw_fd_ostream file(path, code);
  if (!code) {
    file << bytes;
    file.close();
    code = file.error();
    file.clear_error();
  }
  if (code)
    return error() << "cannot write " << path << ": " << code.message();
  return success();
}

/// The bytes of a float; those of a word for other types.
static uint64_t getFloatBytes(DType type) {
  switch (type) {
  case F32:
    return 4;
  case BF16:
  case F16:
    return 2;
  default:
    return type >= F8E4M3FN && type <= F8E3M4 ? 1 : sizeof(runtime::Residue);
  }
}

/// The bytes of memory that kernels of a check have for each byte of an element: a word for the narrowest float.
static int64_t getWordScale(const Package &package) {
  uint64_t narrowest = sizeof(runtime::Residue);
  auto visit = [&](const Program &program) {
    for (const Buffer &buffer : program.buffers())
      narrowest = std::min(narrowest, getFloatBytes(buffer.dtype()));
  };
  llvm::for_each(package.programs(), visit);
  visit(package.serial());
  if (package.has_evaluation())
    narrowest = std::min<uint64_t>(narrowest, sizeof(runtime::Residue) / getWordScale(package.evaluation()));
  return sizeof(runtime::Residue) / narrowest;
}

/// The kernels that the serial programs call.
static SmallVector<KernelJob> selectSerial(ArrayRef<KernelJob> jobs, const Package &package) {
  llvm::StringSet<> symbols;
  for (const Program *program : {&package.serial(), &package.evaluation().serial()})
    for (const Task &task : program->tasks())
      for (const Instruction &instruction : task.instructions())
        if (instruction.has_kernel())
          symbols.insert(instruction.kernel().symbol());
  SmallVector<KernelJob> selected;
  llvm::copy_if(jobs, std::back_inserter(selected), [&](const KernelJob &job) { return symbols.contains(job.symbol); });
  return selected;
}

LogicalResult PackageWriter::compileForCpu(StringRef folder, StringRef target) {
  std::string file = ("kernels-" + target + ".so").str(), path = (folder + "/" + file).str();
  SmallVector<KernelJob> jobs(tables.kernels.getJobs());
  bool isExact = target == kExactTarget, isTwin = target == kTwinTarget;
  if (isTwin)
    jobs = selectSerial(jobs, package);
  int64_t scale = isExact || isTwin ? getWordScale(package) : 0;
  if (failed(scale == 0 ? compileKernels(jobs, target, cache, path, module.getLoc())
                        : compileCheckKernels(jobs, target, scale, cache, path, module.getLoc())))
    return failure();
  KernelLibrary &library = *package.add_libraries();
  library.set_target(target.str());
  library.set_file(file);
  for (const std::string &feature : getCpuFeatures(target))
    library.add_cpu_features(feature);
  library.set_exact_scale(isExact ? scale : 0);
  library.set_twin_scale(isTwin ? scale : 0);
  return success();
}

/// The runtime compares the files with these hashes, and hosts compare the hashes.
LogicalResult PackageWriter::hashFiles(StringRef folder) {
  for (KernelLibrary &library : *package.mutable_libraries()) {
    std::string path = (folder + "/" + library.file()).str();
    auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
    if (!file)
      return error() << "cannot read " << path << ": " << file.getError().message();
    library.set_hash(hashContent(std::string_view((*file)->getBuffer())));
  }
  package.set_constants_hash(hashContent(std::string_view(tables.constants.getBytes())));
  return success();
}

LogicalResult PackageWriter::writeFiles(StringRef folder) {
  // Kernels are compiled side by side, whatever the passes do.
  MLIRContext *context = module.getContext();
  loadKernelDialects(*context);
  bool threads = context->isMultithreadingEnabled();
  context->enableMultithreading();
  llvm::scope_exit restore([&] { context->enableMultithreading(threads); });
  GpuCompiler gpus(tables.kernels.getJobs(), cache, folder, module.getLoc(), package);
  for (const std::string &target : options.targets) {
    if (target == kTwinTarget && !package.has_serial())
      return error() << "target \"twin\" is for the serial program, which --no-serial leaves out";
    if (failed(GpuCompiler::isKnownTarget(target) ? gpus.compile(target) : compileForCpu(folder, target)))
      return failure();
  }
  if (!options.gpuReport.empty() && failed(writeFile(options.gpuReport, gpus.printReport(tables.epilogues))))
    return failure();
  if (failed(hashFiles(folder)))
    return failure();
  std::string bytes;
  if (!package.SerializeToString(&bytes))
    return error() << "package is larger than 2 GiB without its constants";
  bytes = sealPackage(std::move(bytes));
  return success(succeeded(writeFile((folder + "/" + kConstantsFile).str(), tables.constants.getBytes())) &&
                 succeeded(writeFile((folder + "/" + kPackageFile).str(), bytes)));
}

LogicalResult PackageWriter::write() {
  for (const std::string &target : options.targets)
    if (!isKnownTarget(target) && !GpuCompiler::isKnownTarget(target))
      return error() << "target \"" << target
                     << "\" is not known; native, exact and twin are, and so are LLVM's names of 64-bit "
                     << "processors, x86-64-v3 and x86-64-v4 among them, and of GPUs from sm_70 on, sm_80 and sm_90 "
                     << "among them";
  if (failed(writeContent()))
    return failure();
  auto report = [&](llvm::Error problem) -> LogicalResult {
    return problem ? LogicalResult(error() << llvm::toString(std::move(problem))) : success();
  };
  llvm::Expected<PackageFolder> folder = PackageFolder::create(options.path);
  if (!folder)
    return report(folder.takeError());
  if (failed(writeFiles(folder->getTemporary())))
    return failure();
  return report(folder->commit());
}

LogicalResult emit::emitPackage(ModuleOp module, ModuleOp serial, const EmitOptions &options) {
  return PackageWriter(module, serial, options).write();
}
