//===- SafeTensors.h - the safetensors format -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A safetensors file is a 64-bit little-endian length, that many bytes of JSON (name to dtype, shape and byte range),
// and the bytes. Files may be hostile: everything is checked when the file is opened.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_SAFETENSORS_H
#define MESHWRIGHT_RUNTIME_SAFETENSORS_H

#include "meshwright/runtime/Files.h"
#include "meshwright/runtime/Tensor.h"
#include <map>
#include <memory>

namespace meshwright::runtime {

/// An open file; the views point into its mapping and live as long as it does.
class SafeTensors {
public:
  /// Maps the file and checks its header: the length fits the file, the JSON is well formed and names nothing twice,
  /// types are known, byte ranges agree with shapes, do not overlap, leave no hole and end with the file.
  static Result<SafeTensors> open(const std::string &path);

  const std::map<std::string, TensorView> &tensors() const { return entries; }
  /// The tensor of that name; null if there is none.
  const TensorView *find(const std::string &name) const;
  const std::string &path() const { return file->path(); }

private:
  Status readHeader();
  std::shared_ptr<InputFile> file;
  std::map<std::string, TensorView> entries;
};

/// A tensor of a file to be written.
struct SafeTensorsEntry {
  std::string name;
  DType type;
  Shape shape;
};

/// Writes a file tensor by tensor, so that no more than one is in memory.
class SafeTensorsWriter {
public:
  /// Writes the header, with `metadata` if there is any. The tensors then follow in the order of `entries`.
  static Result<SafeTensorsWriter> create(const std::string &path, const std::vector<SafeTensorsEntry> &entries,
                                          const std::map<std::string, std::string> &metadata = {});
  /// Appends the bytes of the next tensor, all of them.
  Status append(std::span<const std::byte> bytes);
  /// Waits until what was written is on the disk.
  Status sync() { return file.sync(); }
  /// Gives the file its name once all tensors are written.
  Status commit();

private:
  explicit SafeTensorsWriter(OutputFile file) : file(std::move(file)) {}
  OutputFile file;
  uint64_t expected = 0, written = 0;
};

} // namespace meshwright::runtime

#endif
