//===- PackageFolder.cpp - replaces a package's folder in one step --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The steps of PackageFolder.h on the file system: a temporary folder, an exchange of names, and the removal of old
// files that the old package lists.
//
//===----------------------------------------------------------------------===//

#include "PackageFolder.h"
#include "package.pb.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <set>
#include <unistd.h>

using namespace meshwright;
using namespace meshwright::emit;
namespace fs = llvm::sys::fs;

template <typename... Args> static llvm::Error fail(const char *format, const Args &...args) {
  return llvm::createStringError(std::errc::io_error, format, args.c_str()...);
}

/// The files of the package at `path`, or nothing where its message cannot be read.
static std::optional<llvm::StringSet<>> listOwnFiles(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path + "/" + kPackageFile, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  Package package;
  if (!buffer || !package.ParseFromArray((*buffer)->getBufferStart(), static_cast<int>((*buffer)->getBufferSize())))
    return std::nullopt;
  llvm::StringSet<> files;
  files.insert(kPackageFile);
  files.insert(kConstantsFile);
  for (const KernelLibrary &library : package.libraries())
    files.insert(library.file());
  return files;
}

/// The names in a folder, sorted, so that errors do not depend on the file system.
static llvm::Expected<std::set<std::string>> listEntries(const std::string &path) {
  std::set<std::string> names;
  std::error_code code;
  for (fs::directory_iterator entry(path, code), end; entry != end && !code; entry.increment(code))
    names.insert(llvm::sys::path::filename(entry->path()).str());
  if (code)
    return fail("cannot read folder %s: %s", path, code.message());
  return names;
}

/// True if `name` in the folder is a regular file, not a link to one.
static bool isFile(const std::string &folder, const std::string &name) {
  fs::file_status status;
  return !fs::status(folder + "/" + name, status, /*follow=*/false) && status.type() == fs::file_type::regular_file;
}

static llvm::Error checkReplaceable(const std::string &path) {
  llvm::Expected<std::set<std::string>> entries = listEntries(path);
  if (!entries)
    return entries.takeError();
  if (entries->empty())
    return llvm::Error::success();
  if (!entries->count(kPackageFile))
    return fail("folder %s exists and is no package; it is left as it is", path);
  std::optional<llvm::StringSet<>> own = listOwnFiles(path);
  if (!own)
    return fail("folder %s has a package.pb that cannot be read; it is left as it is", path);
  for (const std::string &name : *entries)
    if (!own->contains(name) || !isFile(path, name))
      return fail("folder %s has %s, which is no file of the package there, and is left as it is; moving that away or "
                  "another folder would do",
                  path, name);
  return llvm::Error::success();
}

/// Deletes the files of a package that was replaced by the one at `path`, and the folder, which has nothing else in it
/// unless something came meanwhile. Goes through what is there, since names in a message may lead anywhere.
static llvm::Error removeOld(const std::string &folder, const std::string &path) {
  std::optional<llvm::StringSet<>> own = listOwnFiles(folder);
  llvm::Expected<std::set<std::string>> entries = listEntries(folder);
  if (!entries)
    return entries.takeError();
  for (const std::string &name : *entries)
    if (own && own->contains(name) && isFile(folder, name))
      (void)fs::remove(folder + "/" + name);
  if (::rmdir(folder.c_str()) != 0)
    return fail("%s is made, but what was there before cannot be deleted whole; the rest of it is in %s", path, folder);
  return llvm::Error::success();
}

llvm::Expected<PackageFolder> PackageFolder::create(llvm::StringRef path) {
  PackageFolder folder;
  folder.path = path.rtrim('/').str();
  // If the path is a link, the package's folder is the link's target.
  llvm::SmallString<256> real;
  if (!fs::real_path(folder.path, real))
    folder.path = real.str().str();
  if (fs::exists(folder.path) && !fs::is_directory(folder.path))
    return fail("%s exists and is no folder; it is left as it is", folder.path);
  if (fs::exists(folder.path))
    if (llvm::Error error = checkReplaceable(folder.path))
      return std::move(error);
  std::string temporary = folder.path + "." + std::to_string(llvm::sys::Process::getProcessId()) + ".tmp";
  if (std::error_code code = fs::create_directories(temporary, /*IgnoreExisting=*/false))
    return fail("cannot make folder %s: %s", temporary, code.message());
  folder.temporary = std::move(temporary);
  return std::move(folder);
}

PackageFolder &PackageFolder::operator=(PackageFolder &&other) noexcept {
  std::swap(path, other.path);
  std::swap(temporary, other.temporary);
  return *this;
}

PackageFolder::~PackageFolder() {
  if (!temporary.empty())
    fs::remove_directories(temporary);
}

llvm::Error PackageFolder::commit() {
  std::string made = std::exchange(temporary, "");
  auto failed = [&](const std::string &from) {
    std::string reason = std::error_code(errno, std::generic_category()).message();
    fs::remove_directories(made);
    return fail("cannot rename %s to %s: %s", from, path, reason);
  };
  bool replaces = fs::exists(path);
  // Files that appeared after `create` looked are not deleted either.
  if (replaces)
    if (llvm::Error error = checkReplaceable(path)) {
      fs::remove_directories(made);
      return error;
    }
  if (renameat2(AT_FDCWD, made.c_str(), AT_FDCWD, path.c_str(), replaces ? RENAME_EXCHANGE : RENAME_NOREPLACE) == 0)
    return replaces ? removeOld(made, path) : llvm::Error::success();
  if (errno != EINVAL)
    return failed(made);
  // A file system that exchanges no names, as those of networks.
  std::string old = made + ".old";
  if (replaces && std::rename(path.c_str(), old.c_str()) != 0)
    return failed(path);
  if (std::rename(made.c_str(), path.c_str()) != 0) {
    int reason = errno;
    if (replaces)
      std::rename(old.c_str(), path.c_str());
    errno = reason;
    return failed(made);
  }
  return replaces ? removeOld(old, path) : llvm::Error::success();
}
