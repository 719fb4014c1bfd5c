//===- PackageFolder.h - replaces a package's folder in one step -*- C++ -*===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A package is written to a temporary folder beside its own, `out.PID.tmp`, and takes its place by one rename when it
// is complete. So there is a whole package of that name at every moment, the old one or the new one, and a compiler
// that is killed leaves the temporary folder at most. Only files that the old package names as its own are deleted: a
// folder with anything else in it is refused.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_EMIT_PACKAGEFOLDER_H
#define MESHWRIGHT_LIB_EMIT_PACKAGEFOLDER_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include <string>

namespace meshwright::emit {

/// The names of a package's files that no list in it gives.
constexpr const char *kPackageFile = "package.pb", *kConstantsFile = "constants.bin";

class PackageFolder {
public:
  /// Checks that a package may take the place of what is at `path`: nothing, an empty folder, or a package and no file
  /// beside its own. Makes the temporary folder.
  static llvm::Expected<PackageFolder> create(llvm::StringRef path);
  PackageFolder(PackageFolder &&other) noexcept { *this = std::move(other); }
  PackageFolder &operator=(PackageFolder &&other) noexcept;
  /// Deletes the temporary folder, unless the package has taken its place.
  ~PackageFolder();

  /// The folder to write the package's files to.
  llvm::StringRef getTemporary() const { return temporary; }
  /// Gives the temporary folder the package's name. An older package is replaced in one step where the file system can
  /// exchange two names; elsewhere there is a moment without either. Its files are deleted afterwards.
  llvm::Error commit();

private:
  PackageFolder() = default;
  std::string path, temporary;
};

} // namespace meshwright::emit

#endif
