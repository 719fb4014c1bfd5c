//===- Package.h - a package that can be run --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A package is a folder that the compiler wrote, or somebody else did: every index, offset, size and stride in it is
// checked here, once, so that what executes it need not ask again.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_PACKAGE_H
#define MESHWRIGHT_RUNTIME_PACKAGE_H

#include "meshwright/runtime/Files.h"
#include "meshwright/runtime/Layout.h"

namespace meshwright::runtime {

/// Where the variables and ports of a program are: the layouts of the distributed programs, or of the serial one.
struct ProgramLayouts {
  std::vector<Layout> variables, inputs, outputs;
};

/// A checked package. Never changes; programs are run by a Session.
class LoadedPackage {
public:
  /// Reads and checks `package.pb` and `constants.bin` in `folder`.
  static Result<LoadedPackage> open(const std::string &folder);
  /// The same for a message in memory; `constants` may be absent where no constant needs it.
  static Result<LoadedPackage> create(meshwright::Package message, std::string folder,
                                      std::optional<InputFile> constants);

  const meshwright::Package &message() const { return *content; }
  const std::string &getFolder() const { return folder; }
  const Mesh &getMesh() const { return mesh; }
  std::span<const std::byte> getConstants() const {
    return constants ? constants->bytes() : std::span<const std::byte>();
  }
  bool hasSerial() const { return content->has_serial(); }
  const ProgramLayouts &getLayouts() const { return layouts; }
  const ProgramLayouts &getSerialLayouts() const { return serialLayouts; }
  /// The narrowest float type in which the serial program (or else the distributed ones) computes, in its buffers or, as
  /// the compiler says, between them; F64 if none does.
  DType getArithmetic() const;

private:
  LoadedPackage() = default;
  Status check();
  Status checkPrograms();
  Status checkSupports() const;

  std::unique_ptr<meshwright::Package> content;
  std::string folder;
  std::optional<InputFile> constants;
  Mesh mesh;
  ProgramLayouts layouts, serialLayouts;
};

/// Checks one program against the package that holds it and the ranks that run it. `context` names it in errors.
Status checkProgram(const LoadedPackage &package, const Program &program, const Mesh &mesh,
                    const ProgramLayouts &layouts, std::span<const int64_t> ranks, const std::string &context);

/// The bytes of a checked buffer's array (the buffer may be larger).
uint64_t getArrayBytes(const Buffer &buffer);

/// The last address (in elements, from the beginning of the buffer) that a strided array touches;
/// nothing where they cannot be counted. Strides are not negative.
std::optional<uint64_t> getLastElement(std::span<const int64_t> sizes, std::span<const int64_t> strides);

} // namespace meshwright::runtime

#endif
