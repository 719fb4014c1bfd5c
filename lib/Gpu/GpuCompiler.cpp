//===- GpuCompiler.cpp - compiles kernels to PTX and cubins ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One LLVM module per kernel is lowered to PTX; the texts are joined, since all share a header, and `ptxas`, if there
// is one, makes a cubin of them and reports registers and spills. For `emulated`, the same kernels become a shared
// object of the host (GpuMachine.h).
//
//===----------------------------------------------------------------------===//

#include "meshwright/Gpu/GpuCompiler.h"
#include "meshwright/Gpu/Targets.h"
#include "mlir/IR/Threading.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include <mutex>

using namespace mlir;
using namespace meshwright;
using namespace meshwright::emit;

static constexpr llvm::StringLiteral kTriple = "nvptx64-nvidia-cuda", kEmulated = "emulated";
/// The processor that runs the kernels of an emulated GPU.
static constexpr llvm::StringLiteral kEmulator = "x86-64-v3";

static const llvm::Target *findNvidia() {
  static std::once_flag initialized;
  std::call_once(initialized, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  std::string error;
  return llvm::TargetRegistry::lookupTarget(llvm::Triple(kTriple), error);
}

bool emit::isGpuTarget(StringRef target) { return GpuCompiler::isKnownTarget(target); }

bool emit::computesScores(StringRef target) {
  constexpr unsigned kFirst = 80;
  unsigned version = 0;
  StringRef number = target;
  bool isNew = number.consume_front("sm_") && !number.getAsInteger(10, version) && version >= kFirst;
  return isGpuTarget(target) && (target == kEmulated || isNew);
}

/// LLVM also knows older GPUs, which lack features that kernels need.
bool GpuCompiler::isKnownTarget(StringRef target) {
  if (target == kEmulated)
    return true;
  unsigned version = 0;
  StringRef number = target;
  const llvm::Target *nvidia = findNvidia();
  if (!nvidia || !number.consume_front("sm_") || number.getAsInteger(10, version) || version < 70)
    return false;
  // Asks a subtarget without a processor: LLVM prints a warning for an unknown one.
  std::unique_ptr<llvm::MCSubtargetInfo> generic(nvidia->createMCSubtargetInfo(llvm::Triple(kTriple), "", ""));
  return generic->isCPUStringValid(target);
}

//===----------------------------------------------------------------------===//
// PTX
//===----------------------------------------------------------------------===//

static std::unique_ptr<llvm::TargetMachine> createMachine(StringRef target) {
  llvm::TargetOptions options;
  // A product and a sum stay two operations, as on a CPU.
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  options.NoTrappingFPMath = true;
  return std::unique_ptr<llvm::TargetMachine>(findNvidia()->createTargetMachine(
      llvm::Triple(kTriple), target, "", options, std::nullopt, std::nullopt, llvm::CodeGenOptLevel::Default));
}

/// Compiles one kernel to PTX; its private symbols get the kernel's name as a prefix.
static LogicalResult compileToPtx(const KernelJob &job, StringRef target, const CodeCache &cache,
                                  SmallVectorImpl<LaunchedFunction> &launches, std::string &ptx) {
  OwningOpRef<ModuleOp> source = buildGpuKernelModule(job, GpuMachine::getNvidia(), launches);
  if (!source)
    return failure();
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = translateModuleToLLVMIR(*source, context, job.symbol);
  if (!module)
    return job.kernel->emitError() << "kernel cannot be translated to LLVM";
  std::unique_ptr<llvm::TargetMachine> machine = createMachine(target);
  for (llvm::GlobalValue &value : module->global_values())
    if (value.hasLocalLinkage())
      value.setName(job.symbol + "_" + value.getName());
  FailureOr<std::string> text = generateCode(*module, *machine, llvm::CodeGenFileType::AssemblyFile, cache,
                                             [&] { return job.kernel->emitError(); });
  if (failed(text))
    return failure();
  ptx = std::move(*text);
  if (size_t call = ptx.find(".extern .func"); call != StringRef::npos)
    return job.kernel->emitError() << "kernel calls a function that a GPU has not: "
                                   << StringRef(ptx).substr(call).take_until([](char c) { return c == ';'; });
  return success();
}

/// Joins the parts to one text with a single copy of their common header.
static std::string joinPtx(ArrayRef<std::string> parts) {
  constexpr StringLiteral kLast = ".address_size 64\n";
  std::string text;
  for (StringRef part : parts)
    text += text.empty() ? part : part.substr(part.find(kLast) + kLast.size());
  return text;
}

static LogicalResult writeText(StringRef path, StringRef text, Location location) {
  std::error_code code;
  llvm::raw_fd_ostream file(path, code);
  if (!code) {
    file << text;
    file.close();
    code = file.error();
    file.clear_error();
  }
  if (code)
    return emitError(location) << "cannot write " << path << ": " << code.message();
  return success();
}

//===----------------------------------------------------------------------===//
// Cubins
//===----------------------------------------------------------------------===//

/// The path of NVIDIA's assembler, from `PATH` or CUDA's folder; empty if there is none.
static std::string findAssembler() {
  if (auto found = llvm::sys::findProgramByName("ptxas"))
    return *found;
  SmallVector<std::string> folders;
  if (std::optional<std::string> home = llvm::sys::Process::GetEnv("CUDA_HOME"))
    folders.push_back(*home + "/bin");
  folders.push_back("/usr/local/cuda/bin");
  SmallVector<StringRef> names(folders.begin(), folders.end());
  auto found = llvm::sys::findProgramByName("ptxas", names);
  return found ? *found : "";
}

/// The number before `what`.
static int64_t readNumber(StringRef line, StringRef what) {
  int64_t number = 0;
  line.substr(0, line.find(what)).rtrim().rsplit(' ').second.getAsInteger(10, number);
  return number;
}

/// Reads each function's name, spills and registers from the output of the assembler.
void GpuCompiler::readUsages(Target &target, StringRef text) {
  Usage *usage = nullptr;
  SmallVector<StringRef> lines;
  text.split(lines, '\n');
  for (StringRef line : lines) {
    if (line.contains("Compiling entry function")) {
      usage = &target.usages[line.split('\'').second.split('\'').first];
    } else if (usage && line.contains("bytes stack frame")) {
      usage->stackBytes = readNumber(line, " bytes stack frame");
      usage->spillStores = readNumber(line, " bytes spill stores");
      usage->spillLoads = readNumber(line, " bytes spill loads");
    } else if (usage && line.contains(" registers")) {
      usage->registers = readNumber(line, " registers");
    }
  }
}

LogicalResult GpuCompiler::assemble(Target &target, StringRef assembler, StringRef ptx) {
  std::string file = "kernels-" + target.name + ".cubin", cubin = folder + "/" + file, log = cubin + ".log";
  std::string processor = "--gpu-name=" + target.name;
  SmallVector<StringRef> arguments = {assembler, "-v", processor, "-o", cubin, ptx};
  std::optional<StringRef> redirects[] = {std::nullopt, StringRef(log), StringRef(log)};
  std::string error;
  int code = llvm::sys::ExecuteAndWait(assembler, arguments, std::nullopt, redirects, 0, 0, &error);
  auto output = llvm::MemoryBuffer::getFile(log, /*IsText=*/true);
  StringRef text = output ? (*output)->getBuffer() : StringRef();
  llvm::sys::fs::remove(log);
  if (code != 0)
    return emitError(location) << assembler << " failed for target \"" << target.name
                               << "\": " << (error.empty() ? text.trim() : StringRef(error));
  readUsages(target, text);
  addLibrary(target, file, KernelLibrary::CUBIN);
  return success();
}

//===----------------------------------------------------------------------===//
// Targets
//===----------------------------------------------------------------------===//

void GpuCompiler::addLibrary(const Target &target, StringRef file, KernelLibrary::Format format) {
  KernelLibrary &library = *package.add_libraries();
  library.set_target(target.name);
  library.set_file(file.str());
  library.set_format(format);
  auto order = llvm::to_vector(llvm::seq<size_t>(0, jobs.size()));
  llvm::sort(order, [&](size_t a, size_t b) { return jobs[a].symbol < jobs[b].symbol; });
  for (size_t index : order) {
    GpuKernel &kernel = *library.add_gpu_kernels();
    kernel.set_symbol(jobs[index].symbol);
    for (const LaunchedFunction &launch : target.launches[index]) {
      GpuLaunch &entry = *kernel.add_launches();
      entry.set_function(launch.function);
      entry.set_blocks(launch.blocks);
      entry.set_threads(launch.threads);
      entry.set_shared_bytes(launch.sharedBytes);
      kernel.set_scratch_bytes(std::max<uint64_t>(kernel.scratch_bytes(), launch.scratchBytes));
    }
  }
}

LogicalResult GpuCompiler::emulate(Target &target) {
  std::string file = "kernels-" + target.name + ".so";
  auto build = [&](size_t index) {
    return buildGpuKernelModule(jobs[index], GpuMachine::getEmulated(), target.launches[index]);
  };
  if (failed(compileSharedObject(jobs.size(), build, kEmulator, cache, folder + "/" + file, location)))
    return failure();
  addLibrary(target, file, KernelLibrary::SHARED_OBJECT);
  for (const std::string &feature : getCpuFeatures(kEmulator))
    package.mutable_libraries()->rbegin()->add_cpu_features(feature);
  return success();
}

LogicalResult GpuCompiler::compileForNvidia(Target &target) {
  std::vector<std::string> parts(jobs.size());
  auto compile = [&](size_t index) {
    return compileToPtx(jobs[index], target.name, cache, target.launches[index], parts[index]);
  };
  if (failed(failableParallelForEachN(location.getContext(), 0, jobs.size(), compile)))
    return failure();
  std::string file = "kernels-" + target.name + ".ptx", path = folder + "/" + file;
  if (failed(writeText(path, joinPtx(parts), location)))
    return failure();
  std::string assembler = findAssembler();
  if (!assembler.empty() && !jobs.empty() && failed(assemble(target, assembler, path)))
    return failure();
  if (assembler.empty() && !hasWarned)
    emitWarning(location) << "no ptxas was found in PATH, CUDA_HOME and /usr/local/cuda; kernels for GPUs are PTX "
                          << "alone, which the driver compiles whenever they are loaded";
  hasWarned |= assembler.empty();
  addLibrary(target, file, KernelLibrary::PTX);
  return success();
}

/// Warns of kernels that run in a single thread of the GPU: how many there are, and the largest.
void GpuCompiler::warnOfSerial(const Target &target) {
  int64_t number = 0, most = 0;
  dist::KernelOp largest;
  for (auto [job, launches] : llvm::zip_equal(jobs, target.launches)) {
    if (llvm::none_of(launches, [](const LaunchedFunction &launch) { return launch.mapping == GpuLaunchPlan::Serial; }))
      continue;
    int64_t elements = 0;
    auto count = [&](Type type) { elements = std::max(elements, cast<RankedTensorType>(type).getNumElements()); };
    llvm::for_each(job.kernel->getOperandTypes(), count);
    llvm::for_each(job.kernel->getResultTypes(), count);
    ++number;
    if (!largest || elements > most)
      largest = job.kernel;
    most = std::max(most, elements);
  }
  if (number != 0)
    emitWarning(largest.getLoc()) << number << " of " << jobs.size()
                                  << " kernels run in one thread of a GPU; the largest, "
                                  << "this one, has " << most << " elements";
}

LogicalResult GpuCompiler::compile(StringRef name) {
  bool isFirst = targets.empty();
  Target &target = targets.emplace_back();
  target.name = name.str();
  target.launches.resize(jobs.size());
  if (failed(name == kEmulated ? emulate(target) : compileForNvidia(target)))
    return failure();
  if (isFirst)
    warnOfSerial(target);
  return success();
}

std::map<std::string, int64_t> GpuCompiler::countMappings() const {
  std::map<std::string, int64_t> counts;
  for (const Target &target : targets)
    for (ArrayRef<LaunchedFunction> launches : target.launches)
      for (const LaunchedFunction &launch : launches)
        ++counts[stringifyMapping(launch.mapping).str()];
  return counts;
}

std::string GpuCompiler::printReport(const EpilogueTable &epilogues) const {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::json::OStream json(stream, /*IndentSize=*/2);
  auto writeLaunch = [&](const Target &target, const LaunchedFunction &launch) {
    json.attribute("blocks", launch.blocks);
    json.attribute("function", launch.function);
    json.attribute("lanes", launch.lanes);
    json.attribute("mapping", stringifyMapping(launch.mapping));
    auto usage = target.usages.find(launch.function);
    bool isKnown = usage != target.usages.end();
    if (isKnown)
      json.attribute("registers", usage->second.registers);
    json.attribute("scratch_bytes", launch.scratchBytes);
    json.attribute("shared_bytes", launch.sharedBytes);
    if (isKnown) {
      json.attribute("spill_loads", usage->second.spillLoads);
      json.attribute("spill_stores", usage->second.spillStores);
      json.attribute("stack_bytes", usage->second.stackBytes);
    }
    json.attribute("threads", launch.threads);
  };
  auto writeProduct = [&](const EpilogueTable::Entry &entry) {
    bool hasEpilogue = entry.reason.empty();
    json.attribute(hasEpilogue ? "epilogue" : "no_epilogue", hasEpilogue ? entry.epilogue : entry.reason);
    json.attribute("location", entry.location);
    json.attribute("product", entry.product);
  };
  json.array([&] {
    for (const Target &target : targets)
      json.object([&] {
        json.attributeArray("launches", [&] {
          for (ArrayRef<LaunchedFunction> launches : target.launches)
            for (const LaunchedFunction &launch : launches)
              json.object([&] { writeLaunch(target, launch); });
        });
        json.attributeArray("products", [&] {
          for (const EpilogueTable::Entry &entry : epilogues.get())
            json.object([&] { writeProduct(entry); });
        });
        json.attribute("target", target.name);
      });
  });
  stream << "\n";
  return text;
}
