//===- KernelComparison.cpp - kernels of a GPU and of a CPU ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs every kernel of a scheduled module twice, by the compiled code for CPUs and by that for the emulated GPU with
// threads in random order, on random operands. Results are compared bit by bit unless sums are reordered or functions
// expanded; guard bytes after every buffer reveal writes beyond it.
//
//===----------------------------------------------------------------------===//

#include "test/lib/EmulatedGpu/KernelComparison.h"
#include "dialects/Dist/Dist.h"
#include "dialects/Net/Net.h"
#include "meshwright/Codegen/KernelModule.h"
#include "meshwright/Kernels/PlannedKernel.h"
#include "llvm/Support/FormatVariadic.h"
#include <dlfcn.h>

using namespace mlir;
using namespace meshwright;
using namespace meshwright::test;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }
static size_t getElementBytes(Type element) { return std::max(element.getIntOrFloatBitWidth() / 8, 1u); }

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

namespace {

/// Bytes at a place that is a multiple of `alignment`, up to 64, and of no larger power of two, with a guard around
/// them.
class GuardedBytes {
public:
  GuardedBytes(size_t bytes, int64_t alignment)
      : begin(alignment % sizeof(Line)), end(begin + bytes), lines(end / sizeof(Line) + 2) {
    std::fill_n(lines.front().data(), lines.size() * sizeof(Line), kGuard);
  }

  uint8_t *data() { return lines.front().data() + begin; }
  bool isGuarded() const {
    const uint8_t *first = lines.front().data();
    auto isGuard = [](uint8_t byte) { return byte == kGuard; };
    return std::all_of(first, first + begin, isGuard) &&
           std::all_of(first + end, first + lines.size() * sizeof(Line), isGuard);
  }
  bool operator==(const GuardedBytes &) const = default;

private:
  static constexpr uint8_t kGuard = 0x5c;
  struct alignas(64) Line : std::array<uint8_t, 64> {};

  size_t begin, end;
  std::vector<Line> lines;
};

} // namespace

/// The buffers of a kernel; an output that is where an input was has no buffer of its own.
struct KernelComparison::Memory {
  Memory(const emit::KernelJob &job, uint64_t seed);
  /// Gives a kernel so much scratch memory, in which there is whatever was there before: `content`.
  void addScratch(size_t bytes, uint8_t content);
  /// The addresses of inputs, outputs and scratch memory.
  void *const *getAddresses() const { return addresses.data(); }
  bool isGuarded() const {
    return llvm::all_of(buffers, [](const GuardedBytes &buffer) { return buffer.isGuarded(); }) &&
           (!scratch || scratch->isGuarded());
  }

  std::vector<GuardedBytes> buffers;
  std::optional<GuardedBytes> scratch;
  std::vector<void *> addresses;
};

/// A number that is likely where a float or an integer of `type` stands: integers are now and then beyond any index.
static APInt drawBits(Type type, std::mt19937_64 &engine) {
  if (auto real = dyn_cast<FloatType>(type)) {
    APFloat value(static_cast<double>(engine() % 4096) / 1024 - 2);
    bool losesInfo;
    value.convert(real.getFloatSemantics(), APFloat::rmNearestTiesToEven, &losesInfo);
    return value.bitcastToAPInt();
  }
  unsigned width = type.getIntOrFloatBitWidth();
  uint64_t bits = type.isUnsignedInteger() ? engine() : engine() % 8 == 0 ? engine() % 400 - 40 : engine() % 16;
  return APInt(64, bits).trunc(width);
}

KernelComparison::Memory::Memory(const emit::KernelJob &job, uint64_t seed) {
  dist::KernelOp kernel = job.kernel;
  std::mt19937_64 engine(seed);
  auto add = [&](Type type) {
    auto tensor = cast<RankedTensorType>(type);
    size_t bytes = getElementBytes(tensor.getElementType());
    GuardedBytes &buffer = buffers.emplace_back(tensor.getNumElements() * bytes, job.alignment);
    for (int64_t index = 0; index < tensor.getNumElements(); ++index) {
      uint64_t bits = drawBits(tensor.getElementType(), engine).getZExtValue();
      std::memcpy(buffer.data() + index * bytes, &bits, bytes);
    }
    addresses.push_back(buffer.data());
  };
  buffers.reserve(kernel->getNumOperands() + kernel->getNumResults());
  for (Type type : kernel->getOperandTypes())
    add(type);
  for (auto [index, type] : llvm::enumerate(kernel->getResultTypes())) {
    int64_t shared = kernel.getInPlace() ? (*kernel.getInPlace())[index] : -1;
    if (shared >= 0)
      addresses.push_back(addresses[shared]);
    else
      add(type);
  }
}

void KernelComparison::Memory::addScratch(size_t bytes, uint8_t content) {
  if (bytes == 0)
    return;
  scratch.emplace(bytes, /*alignment=*/64);
  std::fill_n(scratch->data(), bytes, content);
  addresses.push_back(scratch->data());
}

//===----------------------------------------------------------------------===//
// Tolerances
//===----------------------------------------------------------------------===//

/// True if the GPU computes `op` in another way than the CPU.
static bool differs(Operation &op) {
  Type element = getElementTypeOrSelf(op.getResult(0).getType());
  if (!isa<FloatType>(element))
    return false;
  if (isa<net::DotOp>(op))
    return true;
  if (auto reduce = dyn_cast<net::ReduceOp>(op))
    return reduce.getKind() == ReduceKind::Sum || reduce.getKind() == ReduceKind::Product;
  if (isa<net::AcoshOp, net::AsinhOp, net::AtanhOp, net::CoshOp, net::ExpOp, net::Expm1Op, net::SinhOp, net::LogOp,
          net::Log1pOp, net::TanhOp, net::ErfOp, net::LogisticOp>(op))
    return element.isF64();
  return isa<net::AcosOp, net::AsinOp, net::DigammaOp, net::LgammaOp, net::Atan2Op, net::CbrtOp, net::CosineOp,
             net::ErfcOp, net::PowerOp, net::SineOp, net::TanOp>(op);
}

/// The tolerance for rounding, relative to the norm; 0 if results have to be equal.
static double getTolerance(dist::KernelOp kernel) {
  bool isExact = true;
  int64_t additions = 1;
  // The roundings of kept numbers, and of sums.
  double kept = 0, added = std::numeric_limits<float>::epsilon();
  for (Operation &op : kernel.getBody().front().without_terminator()) {
    isExact &= !differs(op);
    for (Value value : llvm::concat<Value>(SmallVector<Value>(op.getOperands()), SmallVector<Value>(op.getResults()))) {
      additions = std::max(additions, typeOf(value).getNumElements());
      if (auto real = dyn_cast<FloatType>(typeOf(value).getElementType()))
        kept = std::max(kept, std::ldexp(1.0, 1 - static_cast<int>(real.getFPMantissaWidth())));
    }
  }
  if (isExact)
    return 0;
  // Roundings are as often up as down; and what is added is computed with some.
  added = std::min(added, kept) * (256 + 8 * std::sqrt(static_cast<double>(additions)));
  return kept > added ? kept + added : added;
}

static double readNumber(Type element, const uint8_t *address) {
  uint64_t bits = 0;
  std::memcpy(&bits, address, getElementBytes(element));
  if (auto real = dyn_cast<FloatType>(element)) {
    APFloat value(real.getFloatSemantics(), APInt(real.getWidth(), bits));
    bool losesInfo;
    value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &losesInfo);
    return value.convertToDouble();
  }
  return static_cast<double>(bits);
}

void KernelComparison::readResults(dist::KernelOp kernel, const Memory &memory) {
  results.clear();
  for (auto [index, type] : llvm::enumerate(kernel->getResultTypes())) {
    auto tensor = cast<RankedTensorType>(type);
    auto *address = static_cast<const uint8_t *>(memory.addresses[kernel->getNumOperands() + index]);
    std::vector<double> &result = results.emplace_back();
    for (int64_t at = 0; at < tensor.getNumElements(); ++at)
      result.push_back(readNumber(tensor.getElementType(), address + at * getElementBytes(tensor.getElementType())));
  }
}

std::string KernelComparison::compareOutputs(dist::KernelOp kernel, const Memory &expected, const Memory &actual,
                                             double tolerance) {
  for (auto [index, type] : llvm::enumerate(kernel->getResultTypes())) {
    auto tensor = cast<RankedTensorType>(type);
    Type element = tensor.getElementType();
    bool isFloat = isa<FloatType>(element);
    size_t bytes = getElementBytes(element);
    auto *left = static_cast<const uint8_t *>(expected.addresses[kernel->getNumOperands() + index]);
    auto *right = static_cast<const uint8_t *>(actual.addresses[kernel->getNumOperands() + index]);
    double distance = 0, norm = 0;
    for (int64_t at = 0; at < tensor.getNumElements(); ++at) {
      double a = readNumber(element, left + at * bytes), b = readNumber(element, right + at * bytes);
      bool isSame = isFloat && tolerance > 0 ? a == b || (std::isnan(a) && std::isnan(b))
                                             : std::memcmp(left + at * bytes, right + at * bytes, bytes) == 0 ||
                                                   (std::isnan(a) && std::isnan(b)) || (isFloat && a == b);
      if (!isSame && (!isFloat || tolerance == 0 || !std::isfinite(a) || !std::isfinite(b)))
        return llvm::formatv("result {0} has {1} at {2} where the CPU has {3}", index, b, at, a);
      if (std::isfinite(a)) {
        distance += isSame ? 0 : (a - b) * (a - b);
        norm += a * a;
      }
    }
    double scale = std::max(std::sqrt(norm), 1e-3 * std::sqrt(static_cast<double>(tensor.getNumElements())));
    if (std::sqrt(distance) > tolerance * scale)
      return llvm::formatv("result {0} is {1:E} from the CPU's, of norm {2:E}, but may be {3:E}", index,
                           std::sqrt(distance), std::sqrt(norm), tolerance * scale);
  }
  return "";
}

//===----------------------------------------------------------------------===//
// The run
//===----------------------------------------------------------------------===//

KernelComparison::KernelComparison(ModuleOp scheduled, std::string folder)
    : module(scheduled), folder(std::move(folder)) {
  llvm::StringMap<unsigned> known;
  module.walk([&](dist::KernelOp kernel) {
    // Some lie at multiples of their elements' size alone.
    if (known.try_emplace(schedule::getKernelText(kernel), 0).second)
      jobs.push_back({kernel, "k" + std::to_string(jobs.size()), /*leastDividedBytes=*/0,
                      /*alignment=*/jobs.size() % 3 == 2 ? 8 : 64});
  });
}

KernelComparison::~KernelComparison() {
  for (void *library : {cpu, gpu})
    if (library)
      dlclose(library);
}

bool KernelComparison::compile(StringRef real) {
  emit::loadKernelDialects(*module.getContext());
  std::string path = folder + "/kernels-native.so";
  emit::CodeCache none("");
  emit::GpuCompiler compiler(jobs, none, folder, module.getLoc(), package);
  if (failed(emit::compileKernels(jobs, "native", none, path, module.getLoc())) || failed(compiler.compile("emulated")))
    return false;
  mappings = compiler.countMappings();
  if (!real.empty() && failed(compiler.compile(real)))
    return false;
  for (const GpuKernel &kernel : package.libraries(0).gpu_kernels())
    launches[kernel.symbol()] = &kernel;
  cpu = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  gpu = dlopen((folder + "/" + package.libraries(0).file()).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!cpu || !gpu)
    return false;
  auto *table = static_cast<const runtime::KernelTable *>(dlsym(cpu, runtime::kernelTableSymbol));
  for (const runtime::KernelEntry &entry : ArrayRef(table->entries, table->count))
    entries[entry.symbol] = &entry;
  return true;
}

/// Up to five parts of random sizes; some may be empty.
static std::vector<std::pair<int64_t, int64_t>> drawParts(const runtime::KernelDivision &division,
                                                          std::mt19937_64 &engine) {
  std::vector<int64_t> bounds = {0, division.iterations};
  int64_t grains = (division.iterations - 1) / division.grain + 1;
  for (uint64_t cuts = engine() % 5; cuts > 0; --cuts)
    bounds.push_back(static_cast<int64_t>(engine() % grains) * division.grain);
  llvm::sort(bounds);
  std::vector<std::pair<int64_t, int64_t>> parts;
  for (size_t next = 1; next < bounds.size(); ++next)
    parts.push_back({bounds[next - 1], bounds[next]});
  std::shuffle(parts.begin(), parts.end(), engine);
  return parts;
}

/// Runs a kernel in parts, if it can be divided, and compares all of its memory with that after a run in one piece.
std::string KernelComparison::compareParts(size_t index, uint64_t seed, const Memory &whole) {
  const runtime::KernelDivision *division = entries.at(jobs[index].symbol)->division;
  if (!division)
    return "";
  ++numDivided;
  Memory memory(jobs[index], seed);
  std::mt19937_64 engine(seed);
  for (auto [begin, end] : drawParts(*division, engine))
    division->function(memory.getAddresses(), begin, end);
  return memory.buffers == whole.buffers ? "" : "parts write something else than the whole";
}

std::string KernelComparison::compare(size_t index, uint64_t seed) {
  dist::KernelOp kernel = jobs[index].kernel;
  Memory expected(jobs[index], seed), first(jobs[index], seed), second(jobs[index], seed);
  reinterpret_cast<EmulatedGpu::Function>(dlsym(cpu, jobs[index].symbol.c_str()))(expected.getAddresses());
  if (std::string problem = compareParts(index, seed, expected); !problem.empty())
    return problem;
  EmulatedGpu machine(seed);
  const GpuKernel &description = *launches.at(jobs[index].symbol);
  first.addScratch(description.scratch_bytes(), 0xa5);
  second.addScratch(description.scratch_bytes(), 0x3c);
  for (const GpuLaunch &launch : description.launches()) {
    auto function = reinterpret_cast<EmulatedGpu::Function>(dlsym(gpu, launch.function().c_str()));
    if (!function)
      return "there is no function " + launch.function();
    for (Memory *memory : {&first, &second})
      if (std::string problem = machine.launch(function, memory->getAddresses(), launch.blocks(), launch.threads(),
                                               launch.shared_bytes());
          !problem.empty())
        return problem;
  }
  if (first.buffers != second.buffers)
    return "the order of threads and blocks changes what is written";
  if (!first.isGuarded())
    return "something is written after the end of a buffer";
  double tolerance = getTolerance(kernel);
  ++numCompared;
  numExact += tolerance == 0;
  readResults(kernel, first);
  return compareOutputs(kernel, expected, first, tolerance);
}

std::vector<std::string> KernelComparison::run(uint64_t seed, StringRef real) {
  if (!compile(real))
    return {"the kernels cannot be compiled and loaded"};
  std::vector<std::string> problems;
  for (size_t index = 0; index < jobs.size(); ++index)
    if (std::string problem = compare(index, seed + index); !problem.empty()) {
      std::string text;
      llvm::raw_string_ostream(text) << jobs[index].symbol << ": " << problem << " in " << jobs[index].kernel;
      problems.push_back(text);
    }
  return problems;
}
