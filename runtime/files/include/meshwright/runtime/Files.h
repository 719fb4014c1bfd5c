//===- Files.h - reading and writing files ----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files as bytes. `-` is standard input or output. An output file appears under its name only when it is complete.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_FILES_H
#define MESHWRIGHT_RUNTIME_FILES_H

#include "meshwright/runtime/Status.h"
#include <cstddef>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace meshwright::runtime {

/// The bytes of a file, mapped read-only; standard input is read into memory.
class InputFile {
public:
  /// Errors name the path and the system's reason.
  static Result<InputFile> open(const std::string &path);
  /// Content that is in memory, under that name.
  static InputFile fromText(std::string name, std::string content);
  InputFile(InputFile &&other) noexcept;
  InputFile &operator=(InputFile &&other) noexcept;
  ~InputFile();

  std::span<const std::byte> bytes() const { return content; }
  const std::string &path() const { return name; }

private:
  InputFile() = default;
  std::string name;
  std::string buffer; // of standard input, or as given
  std::span<const std::byte> content;
  bool mapped = false;
};

/// A file that is written without a name and gets it when committed; without commit no file remains, even if
/// the process is killed.
class OutputFile {
public:
  /// Creates the temporary file in the folder of `path`.
  static Result<OutputFile> create(const std::string &path);
  OutputFile(OutputFile &&other) noexcept;
  OutputFile &operator=(OutputFile &&other) noexcept;
  ~OutputFile();

  Status write(std::span<const std::byte> bytes);
  Status write(std::string_view text);
  /// Pushes what was written to readers of a stream (standard output, a pipe).
  Status flush();
  /// Waits until what was written is on the disk.
  Status sync();
  /// Gives the file its name.
  Status commit();
  bool isStandardOutput() const { return name == "-"; }

private:
  OutputFile() = default;
  void discard();
  Status createNamed(int &descriptor);
  Status link();
  Status fail(const char *what) const;
  std::string name, temporary;
  std::FILE *stream = nullptr;
  /// True if a regular file of that name is made or replaced (and no pipe written to).
  bool replaces = false;
};

} // namespace meshwright::runtime

#endif
