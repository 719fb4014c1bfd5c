//===- MatmulSet.cpp - the products of a program --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each distinct problem becomes one primitive of oneDNN, created before the first step; a call binds addresses to it.
// A product for which the library has only its reference implementation is computed by BlockedMatmul, and named in a
// warning. So are, without one, products in a fixed order, those that the library would divide among threads by its
// GEMM, which chooses an order of additions by their number, and those with long lines that it does not pack.
// BlockedMatmul is as fast or faster there, and its order depends on k alone.
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/MatmulSet.h"
#include "AmxMatmul.h"
#include "BlockedMatmul.h"
#include "DividedProduct.h"
#include "LibraryPrimitive.h"
#include "Threads.h"
#include "meshwright/runtime/Arena.h"
#include "meshwright/runtime/MatmulProblem.h"
#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <map>
#include <oneapi/dnnl/dnnl.h>
#include <random>

using namespace meshwright;
using namespace meshwright::runtime;

//===----------------------------------------------------------------------===//
// oneDNN
//===----------------------------------------------------------------------===//

namespace {

struct Primitive {
  LibraryPrimitive handle;
  int threads = 1;
  /// True if the number of threads may have a say in the order of additions.
  bool isDoubtful = false;
  dnnl_memory_desc_t lhs, rhs, out, scratch;
};

struct Call {
  const Primitive *primitive = nullptr; // null: the runtime's own loops
  bool usesAmx = false;                 ///< those of AmxMatmul
  /// The place where these have the right operand, if other products have the same, and whether one has packed it.
  std::optional<uint32_t> place;
  bool isPacked = false;
  dnnl_exec_arg_t arguments[4] = {};
  MatmulProblem problem;
  const std::byte *lhs = nullptr, *rhs = nullptr;
  std::byte *out = nullptr;
  std::string name;
};

/// Memory that has a packed right operand from the product that packs it to the last one that reads it.
struct PackedPlace {
  uint32_t packer = 0, lastReader = 0;
  uint64_t bytes = 0, offset = 0;
};

/// So many operands are kept at a time, of at most so many bytes each: a quarter of a second-level cache. A larger one
/// is read from farther away, where planes take longer than the floats that they are made of.
constexpr size_t maxPlaces = 4;
constexpr uint64_t maxPlaceBytes = 512 << 10;

dnnl_data_type_t getType(DType type) {
  return type == F32 ? dnnl_f32 : type == BF16 ? dnnl_bf16 : dnnl_data_type_undef;
}

/// The descriptor of an operand; a batch dimension with stride 0 is one of size 1, which the library repeats.
bool describe(dnnl_memory_desc_t &desc, DType type, const MatmulProblem &p, const std::vector<int64_t> &batchStrides,
              int64_t rows, int64_t columns, int64_t row, int64_t column) {
  dnnl_dims_t dims, strides;
  int n = 0;
  if (p.batch.size() + 2 > DNNL_MAX_NDIMS || (rows > 1 && row == 0) || (columns > 1 && column == 0))
    return false;
  for (size_t i = 0; i != p.batch.size(); ++i, ++n) {
    dims[n] = batchStrides[i] == 0 ? 1 : p.batch[i];
    strides[n] = batchStrides[i] == 0 ? std::max<int64_t>(rows * columns, 1) : batchStrides[i];
  }
  dims[n] = rows;
  strides[n++] = row;
  dims[n] = columns;
  strides[n++] = column;
  return dnnl_memory_desc_init_by_strides(&desc, n, dims, getType(type), strides) == dnnl_success;
}

std::string_view getCode(const_dnnl_primitive_desc_t desc) {
  const char *name = nullptr;
  bool isKnown = dnnl_primitive_desc_query(desc, dnnl_query_impl_info_str, 0, &name) == dnnl_success && name;
  return isKnown ? name : "ref";
}

/// True if the library has code of its own for the product, and one order of additions for any number of threads up to
/// getMostThreads. Its GEMM has an order for each number.
bool isUseful(std::string_view code, const MatmulProblem &p) {
  return code.find("ref") == std::string_view::npos && (!isDivided(p) || !code.starts_with("gemm:"));
}

/// True if the library may divide a sum, and by the number of threads: its code for AMX chooses the length of what it
/// adds up at once by the work of a thread, and has done so from k = 768 on.
bool mayDivideSum(std::string_view code, const MatmulProblem &p) {
  constexpr int64_t longSum = 512;
  return code.find("amx") != std::string_view::npos && p.k >= longSum;
}

/// True if the library reads long lines of the right operand where they lie, for many rows of the left one. Each line
/// of such a sliver is in a page of its own, and all may be in a few sets of the first-level cache. It packs lines
/// whose number of elements is a power of two, and lines along k.
bool readsLongLines(const MatmulProblem &p) {
  constexpr int64_t longLine = 512, manyRows = 64;
  return p.rhsType == F32 && p.rhsColumn == 1 && p.k > 1 && p.n > longLine && p.m >= manyRows &&
         !std::has_single_bit(static_cast<uint64_t>(p.n));
}

/// How many threads the library may have for a product; 0 if the own loops compute it. A small one is for one thread.
/// Others may divide the columns, in blocks of 64, but not the sum, which the library does with AVX-512 where a left
/// operand is transposed and its lines are long (`compute_blocking_heuristic_avx512` in its
/// src/cpu/x64/matmul/brgemm_matmul_utils.cpp).
int64_t getMostThreads(const MatmulProblem &p) {
  constexpr int64_t columns = 64, longLine = 2048, fewBlocks = 4;
  if (readsLongLines(p))
    return 0;
  if (!isDivided(p))
    return 1;
  if (p.lhsRow != 1 || p.lhsColumn == 1 || p.k < longLine)
    return std::numeric_limits<int>::max();
  int64_t blocks = getBatchSize(p) * ((p.n - 1) / columns + 1);
  return blocks < fewBlocks ? 0 : blocks;
}

} // namespace

struct MatmulSet::Implementation {
  explicit Implementation(int threads) : threads(threads) {}

  int threads;
  dnnl_engine_t engine = nullptr;
  dnnl_stream_t stream = nullptr;
  std::map<std::vector<int64_t>, Primitive> primitives;
  std::vector<Call> calls;
  Arena scratch;
  uint64_t scratchBytes = 0;
  /// Places for packed right operands.
  std::vector<PackedPlace> places;
  /// The product that packs a right operand, by the operand's version and its form.
  std::map<std::pair<uint64_t, std::vector<int64_t>>, uint32_t> packers;
  /// Operands, results and scratch memory of products that are tried.
  std::optional<Arena> trial;
  /// By cause: the first product's name, how many there are, and their operations.
  struct Slow {
    std::string first;
    int count = 0;
    double flops = 0;
  };
  std::map<std::string, Slow> slow;

  ~Implementation() {
    std::ranges::for_each(calls, release);
    primitives.clear();
    if (stream)
      dnnl_stream_destroy(stream);
    if (engine)
      dnnl_engine_destroy(engine);
  }

  /// Makes room for so many bytes of scratch memory.
  void reserve(uint64_t bytes) { scratchBytes = std::max(scratchBytes, bytes); }

  uint32_t add(Call call) {
    calls.push_back(std::move(call));
    return static_cast<uint32_t>(calls.size() - 1);
  }

  /// Lets `call`, which is added next, read the right operand that an earlier product with the same one packs.
  void keepRight(Call &call, uint64_t rhsVersion) {
    const MatmulProblem &p = call.problem;
    uint64_t bytes = rhsVersion == 0 ? 0 : getAmxRightBytes(p, threads);
    if (bytes == 0 || bytes > maxPlaceBytes)
      return;
    std::vector<int64_t> form = {p.n, p.k, p.rhsRow, p.rhsColumn, static_cast<int64_t>(bytes)};
    form.insert(form.end(), p.batch.begin(), p.batch.end());
    form.insert(form.end(), p.rhsBatch.begin(), p.rhsBatch.end());
    auto number = static_cast<uint32_t>(calls.size());
    auto [known, isNew] = packers.try_emplace({rhsVersion, std::move(form)}, number);
    if (isNew)
      return;
    uint32_t &packer = known->second;
    std::optional<uint32_t> place = calls[packer].place ? calls[packer].place : takePlace(packer);
    if (!place || places[*place].packer != packer) {
      // Others have the places since then.
      packer = number;
      return;
    }
    calls[packer].place = call.place = place;
    call.isPacked = true;
    places[*place].lastReader = number;
    places[*place].bytes = std::max(places[*place].bytes, bytes);
  }

  /// A place that nothing reads after the product `packer`.
  std::optional<uint32_t> takePlace(uint32_t packer) {
    auto free = std::ranges::find_if(places, [&](const PackedPlace &place) { return place.lastReader < packer; });
    if (free == places.end() && places.size() == maxPlaces)
      return std::nullopt;
    if (free == places.end())
      free = places.emplace(places.end());
    free->packer = packer;
    return static_cast<uint32_t>(free - places.begin());
  }

  PackedRight getRight(const Call &call) const {
    if (!call.place)
      return {};
    return {scratch.data() + places[*call.place].offset, call.isPacked};
  }

  /// The library's primitive for a product; without a handle where it has none, or none that is fast.
  const Primitive &getPrimitive(const MatmulProblem &problem) {
    auto [position, isNew] = primitives.try_emplace(getKey(problem));
    Primitive &primitive = position->second;
    if (isNew)
      create(problem, primitive);
    return primitive;
  }

  void create(const MatmulProblem &p, Primitive &primitive) {
    // The library's order of additions depends on the shape.
    if (p.parts != 0)
      return;
    if (p.lhsType != p.rhsType || (p.outType != F32 && p.outType != p.lhsType) || p.k == 0 || p.m == 0 || p.n == 0 ||
        getType(p.lhsType) == dnnl_data_type_undef)
      return;
    int64_t most = getMostThreads(p);
    if (most == 0)
      return;
    primitive = make(p, static_cast<int>(std::min<int64_t>(threads, most)));
    if (primitive.isDoubtful && primitive.threads > 1) {
      Primitive one = make(p, 1);
      while (primitive.threads > 1 && !agree(p, one, primitive))
        primitive = make(p, primitive.threads / 2);
    }
    if (primitive.handle)
      reserve(dnnl_memory_desc_get_size(&primitive.scratch));
  }

  /// The library's primitive for so many threads. It makes products for as many threads as there are when they are
  /// made, and computes them with those.
  Primitive make(const MatmulProblem &p, int count) const {
    Primitive primitive;
    primitive.threads = count;
    LibraryThreads libraryThreads(count);
    if (!describe(primitive.lhs, p.lhsType, p, p.lhsBatch, p.m, p.k, p.lhsRow, p.lhsColumn) ||
        !describe(primitive.rhs, p.rhsType, p, p.rhsBatch, p.k, p.n, p.rhsRow, p.rhsColumn) ||
        !describe(primitive.out, p.outType, p, p.outBatch, p.m, p.n, p.outRow, p.outColumn))
      return primitive;
    dnnl_matmul_desc_t operation;
    if (dnnl_matmul_desc_init(&operation, &primitive.lhs, &primitive.rhs, nullptr, &primitive.out) != dnnl_success)
      return primitive;
    dnnl_primitive_attr_t attributes;
    if (dnnl_primitive_attr_create(&attributes) != dnnl_success)
      return primitive;
    dnnl_primitive_attr_set_scratchpad_mode(attributes, dnnl_scratchpad_mode_user);
    dnnl_primitive_desc_t desc = nullptr;
    bool made = dnnl_primitive_desc_create(&desc, &operation, attributes, engine, nullptr) == dnnl_success;
    dnnl_primitive_attr_destroy(attributes);
    if (!made)
      return primitive;
    std::string_view code = getCode(desc);
    dnnl_primitive_t handle = nullptr;
    if (isUseful(code, p) && dnnl_primitive_create(&handle, desc) == dnnl_success) {
      primitive.handle.reset(handle);
      primitive.isDoubtful = mayDivideSum(code, p);
      primitive.scratch = *dnnl_primitive_desc_query_md(desc, dnnl_query_scratchpad_md, 0);
    }
    dnnl_primitive_desc_destroy(desc);
    return primitive;
  }

  /// True if two primitives of a product of bf16 make the same bits of operands whose sums are nothing but errors: the
  /// terms of the second half of k are those of the first with the other sign, and one left over is zero.
  bool agree(const MatmulProblem &p, const Primitive &one, const Primitive &other) {
    uint64_t bytes = 0;
    auto place = [&](const dnnl_memory_desc_t &desc) {
      uint64_t offset = bytes;
      bytes += alignToLine(dnnl_memory_desc_get_size(&desc));
      return offset;
    };
    // Both use the same scratch memory, which has room for that of both.
    uint64_t lhs = place(one.lhs), rhs = place(one.rhs), expected = place(one.out), found = place(other.out),
             scratch = std::min(place(one.scratch), place(other.scratch));
    if (!trial || trial->size() < bytes) {
      trial.emplace();
      if (!trial->allocate(bytes).ok())
        return false;
    }
    std::byte *memory = trial->data();
    std::minstd_rand random;
    auto fill = [&](uint64_t offset, int64_t size, int64_t stride, int64_t kStride, uint16_t sign) {
      auto *numbers = reinterpret_cast<uint16_t *>(memory + offset);
      int64_t half = p.k / 2, inner = stride < kStride ? size : half, outer = stride < kStride ? half : size;
      for (int64_t number = 0; number != inner * outer; ++number) {
        int64_t i = stride < kStride ? number % inner : number / inner,
                at = stride < kStride ? number / inner : number % inner;
        // Numbers of both signs, of magnitudes from 2^-8 to 2^8.
        auto bits = static_cast<uint16_t>(random() >> 8);
        bits = static_cast<uint16_t>((bits & 0x8000) | (0x3b80 + (bits & 0x7ff)));
        numbers[i * stride + at * kStride] = bits;
        numbers[i * stride + (half + at) * kStride] = bits ^ sign;
      }
      for (int64_t i = 0; p.k % 2 == 1 && i != size; ++i)
        numbers[i * stride + (p.k - 1) * kStride] = 0;
    };
    fill(lhs, p.m, p.lhsRow, p.lhsColumn, 0);
    fill(rhs, p.n, p.rhsColumn, p.rhsRow, 0x8000);
    auto compute = [&](const Primitive &primitive, uint64_t out) {
      Call call;
      bool isComputed = bind(call, 0, DNNL_ARG_SRC, primitive.lhs, memory + lhs).ok() &&
                        bind(call, 1, DNNL_ARG_WEIGHTS, primitive.rhs, memory + rhs).ok() &&
                        bind(call, 2, DNNL_ARG_DST, primitive.out, memory + out).ok() &&
                        bind(call, 3, DNNL_ARG_SCRATCHPAD, primitive.scratch, memory + scratch).ok() &&
                        run(primitive, call) == dnnl_success;
      release(call);
      return isComputed;
    };
    return compute(one, expected) && compute(other, found) &&
           std::memcmp(memory + expected, memory + found, dnnl_memory_desc_get_size(&one.out)) == 0;
  }

  dnnl_status_t run(const Primitive &primitive, const Call &call) const {
    LibraryThreads library(primitive.threads);
    return dnnl_primitive_execute(primitive.handle.get(), stream, std::size(call.arguments), call.arguments);
  }

  static void release(Call &call) {
    for (dnnl_exec_arg_t &argument : call.arguments)
      if (argument.memory)
        dnnl_memory_destroy(argument.memory);
  }

  Status bind(Call &call, int argument, int id, const dnnl_memory_desc_t &desc, const void *address) const {
    call.arguments[argument].arg = id;
    if (dnnl_memory_create(&call.arguments[argument].memory, &desc, engine, const_cast<void *>(address)) !=
        dnnl_success)
      return faultError("{}: oneDNN cannot describe the memory of the product", call.name);
    return {};
  }

  void noteSlow(const MatmulProblem &p, const std::string &name) {
    std::string cause;
    if (p.lhsType != F32 && p.lhsType != BF16)
      cause = fmt::format("oneDNN has no products of {}", getName(p.lhsType));
    else
      cause = fmt::format("oneDNN has no fast product of {} and {} to {} with such strides", getName(p.lhsType),
                          getName(p.rhsType), getName(p.outType));
    Slow &entry = slow[cause];
    if (entry.count++ == 0)
      entry.first = name;
    entry.flops += 2.0 * getBatchSize(p) * p.m * p.n * p.k;
  }
};

MatmulSet::MatmulSet(std::unique_ptr<Implementation> implementation) : implementation(std::move(implementation)) {}
MatmulSet::~MatmulSet() = default;

Result<std::unique_ptr<MatmulSet>> MatmulSet::create(int threads) {
  auto implementation = std::make_unique<Implementation>(threads);
  if (dnnl_engine_create(&implementation->engine, dnnl_cpu, 0) != dnnl_success ||
      dnnl_stream_create(&implementation->stream, implementation->engine, dnnl_stream_default_flags) != dnnl_success)
    return faultError("oneDNN cannot create an engine for the CPU");
  return std::unique_ptr<MatmulSet>(new MatmulSet(std::move(implementation)));
}

Result<uint32_t> MatmulSet::prepare(const Matmul &matmul, const std::byte *lhs, const std::byte *rhs, std::byte *out,
                                    const std::string &name, uint64_t rhsVersion) {
  Call call;
  call.problem = getProblem(matmul);
  call.lhs = lhs;
  call.rhs = rhs;
  call.out = out;
  call.name = name;
  if (hasAmx() && isForAmx(call.problem)) {
    call.usesAmx = true;
    implementation->keepRight(call, rhsVersion);
    implementation->reserve(getAmxMatmulScratch(call.problem, implementation->threads));
    return implementation->add(std::move(call));
  }
  const Primitive &primitive = implementation->getPrimitive(call.problem);
  bool empty = call.problem.m == 0 || call.problem.n == 0 || call.problem.k == 0;
  if (primitive.handle) {
    call.primitive = &primitive;
  } else {
    bool isFast = call.problem.lhsType == F32 && call.problem.rhsType == F32;
    if (!empty && call.problem.outType != RESIDUE && call.problem.parts == 0 && call.problem.rounded == DTYPE_INVALID &&
        !isFast)
      implementation->noteSlow(call.problem, name);
    implementation->reserve(getBlockedMatmulScratch(call.problem, implementation->threads));
  }
  return implementation->add(std::move(call));
}

uint32_t MatmulSet::prepareAgain(uint32_t number, const std::byte *lhs, const std::byte *rhs, std::byte *out,
                                 uint64_t rhsVersion) {
  Call call = implementation->calls[number];
  call.place.reset();
  call.isPacked = false;
  if (call.usesAmx)
    implementation->keepRight(call, rhsVersion);
  call.lhs = lhs;
  call.rhs = rhs;
  call.out = out;
  return implementation->add(std::move(call));
}

Status MatmulSet::finish() {
  implementation->trial.reset();
  implementation->packers.clear();
  MW_TRY(implementation->scratch.allocate(getScratchBytes()));
  uint64_t offset = alignToLine(implementation->scratchBytes);
  for (PackedPlace &place : implementation->places)
    offset = (place.offset = offset) + alignToLine(place.bytes);
  for (Call &call : implementation->calls) {
    if (!call.primitive)
      continue;
    MW_TRY(implementation->bind(call, 0, DNNL_ARG_SRC, call.primitive->lhs, call.lhs));
    MW_TRY(implementation->bind(call, 1, DNNL_ARG_WEIGHTS, call.primitive->rhs, call.rhs));
    MW_TRY(implementation->bind(call, 2, DNNL_ARG_DST, call.primitive->out, call.out));
    MW_TRY(implementation->bind(call, 3, DNNL_ARG_SCRATCHPAD, call.primitive->scratch, implementation->scratch.data()));
  }
  return {};
}

Status MatmulSet::execute(uint32_t number) {
  Call &call = implementation->calls[number];
  if (!call.primitive) {
    std::byte *scratch = implementation->scratch.data();
    if (call.usesAmx)
      runAmxMatmul(call.problem, call.lhs, call.rhs, call.out, scratch, implementation->threads,
                   implementation->getRight(call));
    else
      runBlockedMatmul(call.problem, call.lhs, call.rhs, call.out, scratch, implementation->threads);
    return {};
  }
  dnnl_status_t status = implementation->run(*call.primitive, call);
  return status == dnnl_success ? Status() : faultError("{}: oneDNN fails with status {}", call.name, int(status));
}

Status MatmulSet::execute(uint32_t number, const std::byte *lhs, const std::byte *rhs, std::byte *out) {
  Call &call = implementation->calls[number];
  call.lhs = lhs;
  call.rhs = rhs;
  call.out = out;
  if (call.primitive) {
    const void *addresses[] = {lhs, rhs, out};
    for (int i = 0; i != 3; ++i)
      if (dnnl_memory_set_data_handle(call.arguments[i].memory, const_cast<void *>(addresses[i])) != dnnl_success)
        return faultError("{}: oneDNN cannot be given the memory of the product", call.name);
  }
  return execute(number);
}

uint64_t MatmulSet::getScratchBytes() const {
  uint64_t bytes = alignToLine(implementation->scratchBytes);
  for (const PackedPlace &place : implementation->places)
    bytes += alignToLine(place.bytes);
  return bytes;
}

std::vector<std::string> MatmulSet::getWarnings() const {
  std::vector<std::string> lines;
  for (const auto &[cause, entry] : implementation->slow)
    lines.push_back(fmt::format("{}; the runtime's own loops compute \"{}\" ({} in all, {:.2g} GFLOP)", cause,
                                entry.first, entry.count, entry.flops / 1e9));
  return lines;
}
