//===- KernelCompiler.cpp - compiles kernels to a shared object -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels are compiled to object files in parallel, each in an LLVM context of its own, and linked with a table of
// their functions. The order of files and symbols is that of the jobs, so that equal inputs give equal bytes.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Codegen/KernelCompiler.h"
#include "meshwright/Codegen/KernelModule.h"
#include "meshwright/runtime/KernelTable.h"
#include "mlir/IR/Threading.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/X86TargetParser.h"
#include <dlfcn.h>
#include <mutex>

using namespace mlir;
using namespace meshwright;
using namespace meshwright::emit;

static constexpr llvm::StringLiteral kTriple = "x86_64-unknown-linux-gnu";

/// True if the target's kernels are for a check, which any processor executes.
static bool isForCheck(StringRef target) { return target == kExactTarget || target == kTwinTarget; }

bool emit::isKnownTarget(StringRef target) {
  return target == "native" || isForCheck(target) ||
         llvm::X86::parseArchX86(target, /*Only64Bit=*/true) != llvm::X86::CK_None;
}

SmallVector<std::string> emit::getCpuFeatures(StringRef target) {
  SmallVector<std::string> features;
  if (target == "native") {
    for (auto &feature : llvm::sys::getHostCPUFeatures())
      if (feature.second)
        features.push_back(feature.first().str());
  } else if (!isForCheck(target)) {
    SmallVector<StringRef> names;
    llvm::X86::getFeaturesForCPU(target, names);
    for (StringRef name : names)
      features.push_back(name.str());
  }
  llvm::sort(features);
  return features;
}

/// The machine that `target` names. The host's features are asked for one by one: on a virtual machine the name of its
/// processor promises what is not there.
static std::unique_ptr<llvm::TargetMachine> createMachine(StringRef target, std::string &error) {
  static std::once_flag initialized;
  std::call_once(initialized, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
  llvm::Triple triple(kTriple);
  const llvm::Target *found = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!found)
    return nullptr;
  std::string features, processor = isForCheck(target) ? "x86-64" : target.str();
  if (target == "native") {
    processor = "x86-64";
    SmallVector<std::string> list;
    for (auto &feature : llvm::sys::getHostCPUFeatures())
      list.push_back((feature.second ? "+" : "-") + feature.first().str());
    llvm::sort(list);
    features = llvm::join(list, ",");
  }
  llvm::TargetOptions options;
  options.NoTrappingFPMath = true;
  // The twin's kernels spend their time in the functions that they call.
  auto level = target == kTwinTarget ? llvm::CodeGenOptLevel::None : llvm::CodeGenOptLevel::Default;
  return std::unique_ptr<llvm::TargetMachine>(
      found->createTargetMachine(triple, processor, features, options, llvm::Reloc::PIC_, std::nullopt, level));
}

/// Runs LLVM's passes for `machine` over `module`.
static void optimizeModule(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = true;
  tuning.SLPVectorization = false;
  llvm::PassBuilder passes(&machine, tuning);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graph;
  llvm::ModuleAnalysisManager modules;
  passes.registerModuleAnalyses(modules);
  passes.registerCGSCCAnalyses(graph);
  passes.registerFunctionAnalyses(functions);
  passes.registerLoopAnalyses(loops);
  passes.crossRegisterProxies(loops, functions, graph, modules);
  if (machine.getOptLevel() == llvm::CodeGenOptLevel::None)
    passes.buildO0DefaultPipeline(llvm::OptimizationLevel::O0).run(module, modules);
  else
    passes.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2).run(module, modules);
}

FailureOr<std::string> emit::generateCode(llvm::Module &module, llvm::TargetMachine &machine,
                                          llvm::CodeGenFileType type, const CodeCache &cache,
                                          llvm::function_ref<InFlightDiagnostic()> emitError) {
  module.setTargetTriple(machine.getTargetTriple());
  module.setDataLayout(machine.createDataLayout());
  std::string key = cache.getKey(module, machine);
  if (std::optional<std::string> known = cache.load(key))
    return std::move(*known);
  optimizeModule(module, machine);
  llvm::SmallString<0> code;
  llvm::raw_svector_ostream stream(code);
  llvm::legacy::PassManager codegen;
  if (machine.addPassesToEmitFile(codegen, stream, nullptr, type))
    return emitError() << "processor " << machine.getTargetCPU() << " has no code of this form";
  codegen.run(module);
  cache.store(key, code);
  return code.str().str();
}

/// Adds `__truncsfbf2`, which rounds f32 to bf16, to nearest and ties to even: LLVM calls it where it selects between
/// values of bf16, and Debian's compilers do not bring it. It is seen inside the shared object alone.
static void addRounding(llvm::Module &module) {
  llvm::Type *f32 = llvm::Type::getFloatTy(module.getContext()), *bf16 = llvm::Type::getBFloatTy(module.getContext());
  auto *function = llvm::Function::Create(llvm::FunctionType::get(bf16, {f32}, false),
                                          llvm::GlobalValue::WeakODRLinkage, "__truncsfbf2", module);
  function->setVisibility(llvm::GlobalValue::HiddenVisibility);
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(module.getContext(), "entry", function));
  llvm::Value *bits = builder.CreateBitCast(function->getArg(0), builder.getInt32Ty());
  llvm::Value *odd = builder.CreateAnd(builder.CreateLShr(bits, 16), 1);
  llvm::Value *rounded = builder.CreateAdd(builder.CreateAdd(bits, builder.getInt32(0x7fff)), odd);
  llvm::Value *quiet = builder.CreateOr(bits, builder.getInt32(0x400000));
  llvm::Value *magnitude = builder.CreateAnd(bits, builder.getInt32(0x7fffffff));
  llvm::Value *isNan = builder.CreateICmpUGT(magnitude, builder.getInt32(0x7f800000));
  llvm::Value *high = builder.CreateLShr(builder.CreateSelect(isNan, quiet, rounded), 16);
  builder.CreateRet(builder.CreateBitCast(builder.CreateTrunc(high, builder.getInt16Ty()), bf16));
}

/// Compiles `module` for `target` to the object file `path`.
static LogicalResult compileModule(llvm::Module &module, StringRef target, const CodeCache &cache, StringRef path,
                                   llvm::function_ref<InFlightDiagnostic()> emitError) {
  std::string error;
  std::unique_ptr<llvm::TargetMachine> machine = createMachine(target, error);
  if (!machine)
    return emitError() << "no code can be generated for target \"" << target << "\": " << error;
  FailureOr<std::string> object =
      generateCode(module, *machine, llvm::CodeGenFileType::ObjectFile, cache, [&] { return emitError(); });
  if (failed(object))
    return failure();
  std::error_code code;
  llvm::raw_fd_ostream file(path, code);
  if (!code) {
    file << *object;
    file.close();
    code = file.error();
    file.clear_error();
  }
  if (code)
    return emitError() << "cannot write " << path << ": " << code.message();
  return success();
}

/// Compiles what `build` builds to the object file `path`.
static LogicalResult compileObject(ModuleBuilder build, size_t index, StringRef target, const CodeCache &cache,
                                   StringRef path) {
  OwningOpRef<ModuleOp> source = build(index);
  if (!source)
    return failure();
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = translateModuleToLLVMIR(*source, context);
  if (!module)
    return source->emitError() << "kernel cannot be translated to LLVM";
  return compileModule(*module, target, cache, path, [&] { return source->emitError(); });
}

/// Adds the table of the kernels with these names (KernelTable.h). Each has its buffers beside it, as
/// `symbol_buffers`, and some have a division, `symbol_division`: a weak name is null where no object has it.
static void addTable(llvm::Module &module, ArrayRef<StringRef> symbols, StringRef target) {
  llvm::LLVMContext &context = module.getContext();
  llvm::Type *pointer = llvm::PointerType::getUnqual(context), *number = llvm::Type::getInt64Ty(context);
  llvm::StructType *entry = llvm::StructType::get(pointer, pointer, pointer, pointer, pointer);
  llvm::FunctionType *function = llvm::FunctionType::get(llvm::Type::getVoidTy(context), {pointer}, false);
  auto add = [&](llvm::Constant *content, const Twine &name) {
    return new llvm::GlobalVariable(module, content->getType(), /*isConstant=*/true, llvm::GlobalValue::PrivateLinkage,
                                    content, name);
  };
  auto declare = [&](llvm::GlobalValue::LinkageTypes linkage, const Twine &name) {
    auto *variable = new llvm::GlobalVariable(module, number, /*isConstant=*/true, linkage, nullptr, name);
    variable->setVisibility(llvm::GlobalValue::HiddenVisibility);
    return variable;
  };
  SmallVector<llvm::Constant *> entries;
  for (StringRef symbol : symbols) {
    llvm::Constant *numBuffers = declare(llvm::GlobalValue::ExternalLinkage, symbol + "_buffers");
    llvm::Constant *buffers =
        llvm::ConstantExpr::getGetElementPtr(number, numBuffers, llvm::ConstantInt::get(number, 1));
    llvm::Constant *division = declare(llvm::GlobalValue::ExternalWeakLinkage, symbol + "_division");
    llvm::Constant *name = add(llvm::ConstantDataArray::getString(context, symbol), "name");
    llvm::Constant *kernel = llvm::Function::Create(function, llvm::GlobalValue::ExternalLinkage, symbol, module);
    entries.push_back(llvm::ConstantStruct::get(entry, {name, kernel, numBuffers, buffers, division}));
  }
  llvm::Constant *list = add(llvm::ConstantArray::get(llvm::ArrayType::get(entry, entries.size()), entries), "entries");
  llvm::Constant *table = llvm::ConstantStruct::getAnon({llvm::ConstantInt::get(number, entries.size()), list});
  new llvm::GlobalVariable(module, table->getType(), /*isConstant=*/true, llvm::GlobalValue::ExternalLinkage, table,
                           runtime::kernelTableSymbol);
  if (isForCheck(target))
    new llvm::GlobalVariable(module, pointer, /*isConstant=*/false, llvm::GlobalValue::ExternalLinkage,
                             llvm::ConstantPointerNull::get(llvm::PointerType::getUnqual(context)),
                             target == kTwinTarget ? runtime::twinFunctionsSymbol : runtime::exactFunctionsSymbol);
}

/// Compiles what kernels call, and their table, to the object file `path`.
static LogicalResult compileHelpers(ArrayRef<StringRef> symbols, StringRef target, const CodeCache &cache,
                                    StringRef path, Location location) {
  llvm::LLVMContext context;
  llvm::Module module("helpers", context);
  addRounding(module);
  addTable(module, symbols, target);
  return compileModule(module, target, cache, path, [&] { return emitError(location); });
}

/// The linker that a distribution without others has beside this library; empty if there is none.
static std::string findOwnLinker() {
  Dl_info library;
  if (dladdr(reinterpret_cast<void *>(&findOwnLinker), &library) == 0 || !library.dli_fname)
    return "";
  auto found = llvm::sys::findProgramByName("meshwright-ld", {llvm::sys::path::parent_path(library.dli_fname)});
  return found ? *found : "";
}

/// Links `objects` with the first linker that is there.
static LogicalResult link(ArrayRef<std::string> objects, StringRef path, Location location) {
  static constexpr llvm::StringLiteral names[] = {"ld.lld-22", "ld.lld", "ld"};
  std::string linker = findOwnLinker();
  for (StringRef name : names)
    if (auto found = llvm::sys::findProgramByName(name); found && linker.empty())
      linker = *found;
  if (linker.empty())
    if (auto found = llvm::sys::findProgramByName("ld.lld", {MESHWRIGHT_LLVM_TOOLS}))
      linker = *found;
  if (linker.empty())
    return emitError(location) << "no linker was found; install one of ld.lld-22, ld.lld and ld";
  SmallVector<StringRef> arguments = {linker, "-shared", "--build-id=none", "-z", "noexecstack", "-o", path};
  llvm::append_range(arguments, objects);
  std::string error;
  if (llvm::sys::ExecuteAndWait(linker, arguments, std::nullopt, {}, 0, 0, &error) != 0)
    return emitError(location) << "linker " << linker << " failed" << (error.empty() ? "" : ": ") << error;
  return success();
}

static LogicalResult compileAndLink(size_t count, ModuleBuilder build, ArrayRef<StringRef> symbols, StringRef target,
                                    const CodeCache &cache, StringRef path, Location location) {
  SmallVector<std::string> objects;
  for (size_t index = 0; index < count; ++index)
    objects.push_back((path + "." + Twine(index) + ".o").str());
  objects.push_back((path + ".helpers.o").str());
  auto compile = [&](size_t index) { return compileObject(build, index, target, cache, objects[index]); };
  LogicalResult result = failableParallelForEachN(location.getContext(), 0, count, compile);
  if (succeeded(result))
    result = compileHelpers(symbols, target, cache, objects.back(), location);
  if (succeeded(result))
    result = link(objects, path, location);
  for (const std::string &object : objects)
    llvm::sys::fs::remove(object);
  return result;
}

LogicalResult emit::compileSharedObject(size_t count, ModuleBuilder build, StringRef target, const CodeCache &cache,
                                        StringRef path, Location location) {
  return compileAndLink(count, build, {}, target, cache, path, location);
}

LogicalResult emit::compileKernels(ArrayRef<KernelJob> jobs, StringRef target, const CodeCache &cache, StringRef path,
                                   Location location) {
  auto build = [&](size_t index) {
    return buildKernelModule(jobs[index].kernel, jobs[index].symbol, jobs[index].leastDividedBytes);
  };
  auto symbols = llvm::map_to_vector(jobs, [](const KernelJob &job) -> StringRef { return job.symbol; });
  return compileAndLink(jobs.size(), build, symbols, target, cache, path, location);
}

LogicalResult emit::compileCheckKernels(ArrayRef<KernelJob> jobs, StringRef target, int64_t scale,
                                        const CodeCache &cache, StringRef path, Location location) {
  Numbers numbers = target == kTwinTarget ? Numbers::Doubles : Numbers::Residues;
  auto build = [&](size_t index) {
    return buildCheckKernelModule(jobs[index].kernel, jobs[index].symbol, numbers, scale);
  };
  auto symbols = llvm::map_to_vector(jobs, [](const KernelJob &job) -> StringRef { return job.symbol; });
  return compileAndLink(jobs.size(), build, symbols, target, cache, path, location);
}
