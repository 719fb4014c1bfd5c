//===- CodeCache.cpp - machine code, by what it was compiled from ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM takes four fifths of the time of compiling a small network, and another strategy for a network has most of its
// kernels again. The key is a hash of the LLVM module before LLVM's own passes, so the cache does not depend on the
// passes of this project: a kernel that is built otherwise has another key. It does depend on LLVM, which a security
// update replaces under the same version, so the file that LLVM was loaded from is part of the key.
//
// An entry is a hash of the code, and the code. It appears by rename, so that a reader sees all of it or nothing.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Codegen/CodeCache.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/CachePruning.h"
#include "llvm/Support/Chrono.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Target/TargetMachine.h"
#include <dlfcn.h>

using namespace meshwright;
using namespace meshwright::emit;
using llvm::StringRef;

namespace {
/// Counts changes of the passes and options that are not part of a module or machine, in KernelCompiler.cpp and
/// GpuCompiler.cpp.
constexpr StringRef kPipeline = "1";
/// The prefix of file names by which LLVM's pruning knows entries.
constexpr StringRef kPrefix = "llvmcache-";
/// The most bytes that a cache keeps, and for how long an entry that is not used.
constexpr uint64_t kMaxBytes = uint64_t(2) << 30;
constexpr std::chrono::hours kLifetime(24 * 30);
} // namespace

using Digest = std::array<uint8_t, 32>;

static Digest getDigest(StringRef bytes) {
  return llvm::SHA256::hash(llvm::ArrayRef(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()));
}

/// Version, size and date of the file that LLVM is loaded from; empty where it is not known.
static const std::string &getLlvmIdentity() {
  static const std::string identity = [] {
    Dl_info info;
    llvm::sys::fs::file_status status;
    auto *symbol = reinterpret_cast<void *>(
        static_cast<const llvm::Target *(*)(const llvm::Triple &, std::string &)>(&llvm::TargetRegistry::lookupTarget));
    if (dladdr(symbol, &info) == 0 || llvm::sys::fs::status(info.dli_fname, status))
      return std::string();
    auto changed = llvm::sys::toTimeT(status.getLastModificationTime());
    return (llvm::Twine(LLVM_VERSION_STRING) + " " + llvm::Twine(status.getSize()) + " " + llvm::Twine(changed)).str();
  }();
  return identity;
}

CodeCache::~CodeCache() {
  if (folder.empty() || !llvm::sys::fs::is_directory(folder))
    return;
  llvm::CachePruningPolicy policy;
  policy.Expiration = kLifetime;
  policy.MaxSizeBytes = kMaxBytes;
  llvm::pruneCache(folder, policy);
}

std::string CodeCache::getKey(const llvm::Module &module, const llvm::TargetMachine &machine) const {
  if (folder.empty() || getLlvmIdentity().empty())
    return {};
  std::string text;
  llvm::raw_string_ostream stream(text);
  for (StringRef part : {kPipeline, StringRef(getLlvmIdentity()), StringRef(machine.getTargetTriple().str()),
                         machine.getTargetCPU(), machine.getTargetFeatureString()})
    stream << part << "\n";
  module.print(stream, nullptr);
  return llvm::toHex(getDigest(text), /*LowerCase=*/true);
}

std::string CodeCache::getPath(StringRef key) const {
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, kPrefix + key);
  return path.str().str();
}

std::optional<std::string> CodeCache::load(StringRef key) const {
  if (key.empty())
    return std::nullopt;
  auto file = llvm::MemoryBuffer::getFile(getPath(key), /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!file)
    return std::nullopt;
  StringRef content = (*file)->getBuffer();
  StringRef code = content.drop_front(std::min(content.size(), sizeof(Digest)));
  Digest digest = getDigest(code);
  if (!content.starts_with(StringRef(reinterpret_cast<const char *>(digest.data()), digest.size())))
    return std::nullopt;
  return code.str();
}

void CodeCache::store(StringRef key, StringRef code) const {
  if (key.empty() || llvm::sys::fs::create_directories(folder))
    return;
  llvm::Expected<llvm::sys::fs::TempFile> file = llvm::sys::fs::TempFile::create(getPath(key) + ".%%%%%%%%.tmp");
  if (!file)
    return llvm::consumeError(file.takeError());
  bool isWritten = false;
  {
    llvm::raw_fd_ostream stream(file->FD, /*shouldClose=*/false);
    Digest digest = getDigest(code);
    stream.write(reinterpret_cast<const char *>(digest.data()), digest.size());
    stream << code;
    stream.flush();
    isWritten = !stream.has_error();
    stream.clear_error();
  }
  llvm::consumeError(isWritten ? file->keep(getPath(key)) : file->discard());
}
