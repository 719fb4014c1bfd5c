//===- KernelLibraries.cpp - compiled kernels of a package ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chooses the library of a package that suits this CPU, checks that the file is whole before the loader maps it, and
// resolves kernels by the table in the library, whose sizes are compared with the buffers of each call.
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/KernelLibraries.h"
#include "meshwright/runtime/ExactFunctions.h"
#include "meshwright/runtime/Files.h"
#include "meshwright/runtime/MappingWatch.h"
#include "meshwright/runtime/TwinFunctions.h"
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <fmt/ranges.h>
#include <fstream>
#include <link.h>
#include <set>
#include <sstream>

using namespace meshwright;
using namespace meshwright::runtime;

/// `avx512_bf16`, `avx512-bf16` and `+avx512bf16` are one.
static std::string normalizeFeature(std::string_view name) {
  std::string result;
  for (char c : name)
    if (c != '_' && c != '-' && c != '.' && c != '+')
      result += c;
  // LLVM counts from the second one on.
  return result == "bmi" ? "bmi1" : result;
}

/// Features that code generators use for ordinary code and that every /proc/cpuinfo names if they are there. Others are
/// taken on trust: a kernel may be older than a CPU's newest features.
static bool matters(const std::string &feature) {
  static const std::set<std::string> known = {
      "avx",        "avx2",       "fma",         "f16c",       "bmi1",         "bmi2",
      "avx512f",    "avx512cd",   "avx512bw",    "avx512dq",   "avx512vl",     "avx512er",
      "avx512ifma", "avx512vbmi", "avx512vbmi2", "avx512vnni", "avx512bitalg", "avx512vpopcntdq",
      "avx512bf16", "avx512fp16", "amxtile",     "amxint8",    "amxbf16"};
  return known.contains(feature);
}

std::vector<std::string> meshwright::runtime::getMissingFeatures(std::span<const std::string> wanted,
                                                                 std::string_view flags) {
  std::set<std::string> present;
  std::istringstream words{std::string(flags)};
  for (std::string word; words >> word;)
    present.insert(normalizeFeature(word));
  std::vector<std::string> missing;
  for (const std::string &feature : wanted)
    if (std::string name = normalizeFeature(feature);
        matters(name) && !feature.starts_with("-") && !present.contains(name))
      missing.push_back(feature);
  return missing;
}

static std::string readCpuFlags() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("flags"))
      if (size_t colon = line.find(':'); colon != std::string::npos)
        return line.substr(colon + 1);
  return "";
}

Result<LoadedKernels> LoadedKernels::load(const LoadedPackage &package, const std::string &target) {
  LoadedKernels kernels;
  const auto &libraries = package.message().libraries();
  if (libraries.empty() && target.empty())
    return kernels;
  std::string flags = readCpuFlags();
  std::vector<std::string> reasons;
  const KernelLibrary *chosen = nullptr;
  for (const KernelLibrary &library : libraries) {
    bool isForGpu = library.format() != KernelLibrary::SHARED_OBJECT || !library.gpu_kernels().empty();
    bool isConverted = package.isExact() || package.isTwin();
    const char *purpose = isForGpu                                           ? " (for a GPU)"
                          : library.exact_scale() != 0 && !package.isExact() ? " (for --check-exact)"
                          : library.twin_scale() != 0 && !package.isTwin()   ? " (for --check-serial)"
                                                                             : "";
    if (*purpose != 0 || (!isConverted && !target.empty() && library.target() != target)) {
      reasons.push_back(library.target() + purpose);
      continue;
    }
    std::vector<std::string> wanted(library.cpu_features().begin(), library.cpu_features().end());
    std::vector<std::string> missing = flags.empty() ? std::vector<std::string>() : getMissingFeatures(wanted, flags);
    if (missing.empty()) {
      chosen = &library;
      break;
    }
    reasons.push_back(fmt::format("{} (needs {})", library.target(), fmt::join(missing, ", ")));
  }
  if (!chosen)
    return inputError("the package has no kernels for {}; it has them for {}", target.empty() ? "this CPU" : target,
                      reasons.empty() ? "none" : fmt::format("{}", fmt::join(reasons, "; ")));
  kernels.target = chosen->target();
  kernels.path = package.getFolder() + "/" + chosen->file();
  // Without a slash the loader would search its own folders.
  if (kernels.path.find('/') == std::string::npos)
    kernels.path = "./" + kernels.path;
  auto file = InputFile::open(kernels.path);
  if (!file.ok())
    return file.status().within("the kernels cannot be loaded");
  MW_TRY(package.checkLibraryFile(*chosen, file->bytes(), kernels.path));
  MW_TRY(kernels.open(*file));
  MW_TRY(kernels.readTable());
  if (package.isExact())
    MW_TRY(kernels.giveFunctions(exactFunctionsSymbol, &getExactFunctions()));
  if (package.isTwin())
    MW_TRY(kernels.giveFunctions(twinFunctionsSymbol, &getTwinFunctions()));
  return kernels;
}

/// The loader maps what the headers say without a look at the size of the file, and touches it: what is missing there
/// ends the process.
static Status checkSegments(const InputFile &file) {
  std::span<const std::byte> bytes = file.bytes();
  Elf64_Ehdr header;
  if (bytes.size() < sizeof(header))
    return inputError("{} has {} bytes, too few for a shared object", file.path(), bytes.size());
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_phentsize != sizeof(Elf64_Phdr))
    return inputError("{} is no shared object of 64 bits", file.path());
  if (header.e_phoff > bytes.size() || header.e_phnum > (bytes.size() - header.e_phoff) / sizeof(Elf64_Phdr))
    return inputError("{} ends after {} bytes, before its headers do", file.path(), bytes.size());
  for (size_t index = 0; index != header.e_phnum; ++index) {
    Elf64_Phdr segment;
    std::memcpy(&segment, bytes.data() + header.e_phoff + index * sizeof(segment), sizeof(segment));
    if (segment.p_offset > bytes.size() || segment.p_filesz > bytes.size() - segment.p_offset)
      return inputError("{} ends after {} bytes, before its segment {} does", file.path(), bytes.size(), index);
  }
  return {};
}

/// Where the loader has put what is in the file.
static std::vector<std::span<const std::byte>> findSegments(void *handle) {
  struct Search {
    ElfW(Addr) base;
    std::vector<std::span<const std::byte>> found;
  } search = {};
  link_map *map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0)
    return {};
  search.base = map->l_addr;
  auto visit = [](dl_phdr_info *info, size_t, void *data) {
    auto &search = *static_cast<Search *>(data);
    if (info->dlpi_addr != search.base)
      return 0;
    for (const ElfW(Phdr) &segment : std::span(info->dlpi_phdr, info->dlpi_phnum))
      if (segment.p_type == PT_LOAD)
        search.found.push_back({reinterpret_cast<const std::byte *>(search.base + segment.p_vaddr), segment.p_filesz});
    return 1;
  };
  dl_iterate_phdr(visit, &search);
  return search.found;
}

Status LoadedKernels::open(const InputFile &file) {
  MW_TRY(checkSegments(file).within("the kernels cannot be loaded"));
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return inputError("the kernels cannot be loaded: {}", dlerror());
  std::vector<std::span<const std::byte>> segments = findSegments(library);
  for (std::span<const std::byte> segment : segments)
    watchMapping(segment, path);
  handle = std::shared_ptr<void>(library, [segments](void *loaded) {
    for (std::span<const std::byte> segment : segments)
      forgetMapping(segment);
    dlclose(loaded);
  });
  return {};
}

Status LoadedKernels::readTable() {
  const auto *table = static_cast<const KernelTable *>(dlsym(handle.get(), kernelTableSymbol));
  if (!table)
    return inputError("{} has no table of kernels, {}", path, kernelTableSymbol);
  for (const KernelEntry &entry : std::span(table->entries, table->count))
    entries.emplace(entry.symbol, &entry);
  return {};
}

Status LoadedKernels::giveFunctions(const char *symbol, const void *functions) {
  auto *pointer = static_cast<const void **>(dlsym(handle.get(), symbol));
  if (!pointer)
    return inputError("{} has no place for the functions of its kernels, {}", path, symbol);
  *pointer = functions;
  return {};
}

namespace {

/// Holds the arguments of a call against what the compiler derived from the kernel's code.
class ArgumentCheck {
public:
  ArgumentCheck(const KernelEntry &kernel, std::span<const std::span<std::byte>> arguments, uint32_t numOutputs)
      : symbol(kernel.symbol), buffers(kernel.buffers, *kernel.numBuffers), arguments(arguments),
        firstOutput(arguments.size() - std::min<size_t>(numOutputs, arguments.size())) {}

  Status run() const {
    if (buffers.size() != arguments.size())
      return inputError("kernel {} takes {} buffers but is given {}", symbol, buffers.size(), arguments.size());
    for (size_t i = 0; i != arguments.size(); ++i) {
      if (buffers[i].bytes > arguments[i].size())
        return inputError("argument {} of kernel {} is to have {} bytes but its buffer has {}", i, symbol,
                          buffers[i].bytes, arguments[i].size());
      MW_TRY(checkAccess(i));
    }
    return checkOverlaps();
  }

private:
  bool isOutput(size_t i) const { return i >= firstOutput; }

  Status checkAccess(size_t i) const {
    const KernelBuffer &buffer = buffers[i];
    if (buffer.memory != i && arguments[i].data() != arguments[buffer.memory].data())
      return inputError("kernel {} writes argument {} over argument {}, but the package has them in different places",
                        symbol, i, buffer.memory);
    if ((buffer.access & KERNEL_UNKNOWN) != 0 || buffer.bytes == 0 || buffer.memory != i)
      return {};
    bool isWritten = (buffer.access & KERNEL_WRITES) != 0;
    if (isOutput(i) && !isWritten)
      return inputError("kernel {} does not write argument {}, but the package says so", symbol, i);
    bool isOverwritten = false;
    for (size_t output = firstOutput; isWritten && output != arguments.size(); ++output)
      isOverwritten |= buffers[output].memory == i;
    return isWritten && !isOutput(i) && !isOverwritten
               ? inputError("kernel {} writes argument {}, but the package says that it only reads it", symbol, i)
               : Status();
  }

  /// Checks that written memory lies apart from all other memory of the call.
  Status checkOverlaps() const {
    struct Place {
      const std::byte *begin, *end;
      bool isWritten;
      size_t argument;
    };
    std::vector<Place> places;
    std::vector<size_t> placeOf(arguments.size());
    for (size_t i = 0; i != arguments.size(); ++i) {
      placeOf[i] = buffers[i].memory == i ? places.size() : placeOf[buffers[i].memory];
      if (buffers[i].memory == i)
        places.push_back({arguments[i].data(), arguments[i].data() + buffers[i].bytes, false, i});
      places[placeOf[i]].isWritten |= isOutput(i);
    }
    std::erase_if(places, [](const Place &place) { return place.begin == place.end; });
    std::sort(places.begin(), places.end(), [](const Place &a, const Place &b) { return a.begin < b.begin; });
    const Place *last = nullptr, *lastWritten = nullptr;
    for (const Place &place : places) {
      const Place *other = place.isWritten ? last : lastWritten;
      if (other && other->end > place.begin)
        return inputError("arguments {} and {} of kernel {} overlap, and it is not compiled to work in place there",
                          std::min(place.argument, other->argument), std::max(place.argument, other->argument), symbol);
      if (!last || place.end > last->end)
        last = &place;
      if (place.isWritten && (!lastWritten || place.end > lastWritten->end))
        lastWritten = &place;
    }
    return {};
  }

  const char *symbol;
  std::span<const KernelBuffer> buffers;
  std::span<const std::span<std::byte>> arguments;
  size_t firstOutput;
};

} // namespace

Result<const KernelEntry *> LoadedKernels::find(const std::string &symbol,
                                                std::span<const std::span<std::byte>> arguments,
                                                uint32_t numOutputs) const {
  auto found = entries.find(symbol);
  if (found == entries.end())
    return inputError("{} has no kernel {}", handle ? path : "the package, which has no kernels,", symbol);
  if (found->second->numBuffers)
    MW_TRY(ArgumentCheck(*found->second, arguments, numOutputs).run());
  return found->second;
}
