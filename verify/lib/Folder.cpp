//===- Folder.cpp - reads a package's folder ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ContentHash.h"
#include "meshwright/verify/Verify.h"
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <fstream>
#include <google/protobuf/stubs/logging.h>
#include <optional>
#include <sys/stat.h>

using namespace meshwright;

/// The content of a regular file, or an error.
static std::string readFile(const std::string &path, std::string &content) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0)
    return fmt::format("cannot open {}: {}", path, std::strerror(errno));
  if (!S_ISREG(status.st_mode))
    return fmt::format("{} is no regular file", path);
  std::ifstream file(path, std::ios::binary);
  content.resize(static_cast<size_t>(status.st_size));
  if (!file.read(content.data(), static_cast<std::streamsize>(content.size())))
    return fmt::format("cannot read the {} bytes of {}", content.size(), path);
  return "";
}

std::string verify::readPackage(const std::string &folder, Package &package, uint64_t &constantsBytes) {
  std::string path = folder + "/package.pb", bytes;
  if (std::string error = readFile(path, bytes); !error.empty())
    return error;
  std::optional<PackageSeal> seal = findSeal(std::as_bytes(std::span(bytes)));
  if (!seal)
    return fmt::format("{}: the package does not end with the hash of its content", path);
  uint64_t hash = hashContent(std::string_view(bytes).substr(0, seal->contentBytes));
  if (hash != seal->hash)
    return fmt::format("{}: the file is damaged: its content has the hash {} but it says {}", path, formatHash(hash),
                       formatHash(seal->hash));
  google::protobuf::LogSilencer silencer;
  if (bytes.size() > static_cast<size_t>(INT32_MAX) || !package.ParseFromString(bytes))
    return fmt::format("{}: the {} bytes are no package message", path, bytes.size());
  std::string constants, constantsPath = folder + "/constants.bin";
  struct stat status;
  if (stat(constantsPath.c_str(), &status) == 0)
    if (std::string error = readFile(constantsPath, constants); !error.empty())
      return error;
  if (hashContent(constants) != package.constants_hash())
    return fmt::format("{}: the file is damaged: it has the hash {} but the package says {}", constantsPath,
                       formatHash(hashContent(constants)), formatHash(package.constants_hash()));
  constantsBytes = constants.size();
  return "";
}
