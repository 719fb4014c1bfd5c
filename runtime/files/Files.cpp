//===- Files.cpp - reading and writing files ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Input files are mapped. An output file is written without a name (O_TMPFILE; with a temporary name if the file system
// has no such files) and gets its name by link and rename when it is committed: readers see either the old file or the
// whole new one, and a process that dies leaves no part of a file with that name.
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/Files.h"
#include "meshwright/runtime/MappingWatch.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

using namespace meshwright::runtime;

//===----------------------------------------------------------------------===//
// InputFile
//===----------------------------------------------------------------------===//

/// The word for a file that is none of bytes in a row.
static const char *describeKind(mode_t mode) {
  return S_ISDIR(mode) ? "a directory" : S_ISFIFO(mode) ? "a pipe" : S_ISSOCK(mode) ? "a socket" : "a device";
}

Result<InputFile> InputFile::open(const std::string &path) {
  InputFile file;
  file.name = path;
  // A socket cannot be opened, and a pipe without a writer is not waited for.
  bool isStandard = path == "-";
  struct stat info;
  if (!isStandard && stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode))
    return inputError("cannot read {}, which is {}; a regular file is wanted", path, describeKind(info.st_mode));
  int descriptor = isStandard ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0)
    return inputError("cannot open {}: {}", path, std::strerror(errno));
  auto close = [&] {
    if (descriptor != STDIN_FILENO)
      ::close(descriptor);
  };
  auto fail = [&](const char *what) {
    int reason = errno;
    close();
    return inputError("cannot {} {}: {}", what, path, std::strerror(reason));
  };
  if (fstat(descriptor, &info) != 0)
    return fail("read");
  if (S_ISDIR(info.st_mode) || (!isStandard && !S_ISREG(info.st_mode))) {
    close();
    return inputError("cannot read {}, which is {}; a regular file is wanted", path, describeKind(info.st_mode));
  }
  if (S_ISREG(info.st_mode) && info.st_size > 0) {
    void *address = mmap(nullptr, info.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (address == MAP_FAILED)
      return fail("map");
    file.content = {static_cast<const std::byte *>(address), static_cast<size_t>(info.st_size)};
    file.mapped = true;
    watchMapping(file.content, path);
    close();
    return file;
  }
  // Standard input may be a pipe or a terminal, which have no size.
  std::vector<char> chunk(1 << 16);
  while (true) {
    ssize_t count = ::read(descriptor, chunk.data(), chunk.size());
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return fail("read");
    if (count == 0)
      break;
    file.buffer.append(chunk.data(), count);
  }
  close();
  file.content = std::as_bytes(std::span(file.buffer));
  return file;
}

InputFile InputFile::fromText(std::string name, std::string content) {
  InputFile file;
  file.name = std::move(name);
  file.buffer = std::move(content);
  file.content = std::as_bytes(std::span(file.buffer));
  return file;
}

InputFile::InputFile(InputFile &&other) noexcept { *this = std::move(other); }

InputFile &InputFile::operator=(InputFile &&other) noexcept {
  std::swap(name, other.name);
  std::swap(content, other.content);
  std::swap(mapped, other.mapped);
  std::swap(buffer, other.buffer);
  // A short string's bytes live in the object itself.
  if (!mapped)
    content = std::as_bytes(std::span(buffer));
  if (!other.mapped)
    other.content = std::as_bytes(std::span(other.buffer));
  return *this;
}

InputFile::~InputFile() {
  if (!mapped)
    return;
  forgetMapping(content);
  munmap(const_cast<std::byte *>(content.data()), content.size());
}

//===----------------------------------------------------------------------===//
// OutputFile
//===----------------------------------------------------------------------===//

Result<OutputFile> OutputFile::create(const std::string &path) {
  OutputFile file;
  file.name = path;
  if (path == "-") {
    file.stream = stdout;
    return file;
  }
  // A rename cannot replace a file that is not regular (a pipe, /dev/null).
  struct stat info;
  if (stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    if (!(file.stream = std::fopen(path.c_str(), "we")))
      return file.fail("open");
    return file;
  }
  file.replaces = true;
  // A file without a name is gone when the process is, whatever ends it.
  size_t slash = path.rfind('/');
  std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  int descriptor = ::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
  if (descriptor < 0) {
    if (Status status = file.createNamed(descriptor); !status.ok())
      return status;
  }
  if (!(file.stream = fdopen(descriptor, "w"))) {
    ::close(descriptor);
    return file.fail("create");
  }
  return file;
}

/// For file systems that know no files without a name.
Status OutputFile::createNamed(int &descriptor) {
  temporary = name + ".XXXXXX";
  descriptor = mkstemp(temporary.data());
  if (descriptor < 0) {
    temporary.clear();
    return fail("create");
  }
  mode_t mask = umask(0);
  umask(mask);
  return fchmod(descriptor, 0666 & ~mask) == 0 ? Status() : fail("create");
}

/// Gives a file without a name a temporary one.
Status OutputFile::link() {
  std::string source = fmt::format("/proc/self/fd/{}", fileno(stream));
  for (int attempt = 0; attempt != 100; ++attempt) {
    std::string target = fmt::format("{}.{}-{}", name, getpid(), attempt);
    if (linkat(AT_FDCWD, source.c_str(), AT_FDCWD, target.c_str(), AT_SYMLINK_FOLLOW) == 0) {
      temporary = target;
      return {};
    }
    if (errno != EEXIST)
      break;
  }
  return fail("write");
}

OutputFile::OutputFile(OutputFile &&other) noexcept { *this = std::move(other); }

OutputFile &OutputFile::operator=(OutputFile &&other) noexcept {
  std::swap(name, other.name);
  std::swap(temporary, other.temporary);
  std::swap(stream, other.stream);
  std::swap(replaces, other.replaces);
  return *this;
}

OutputFile::~OutputFile() { discard(); }

void OutputFile::discard() {
  if (stream && stream != stdout)
    std::fclose(stream);
  stream = nullptr;
  if (!temporary.empty())
    unlink(temporary.c_str());
  temporary.clear();
}

Status OutputFile::fail(const char *what) const {
  return inputError("cannot {} {}: {}", what, name == "-" ? "standard output" : name, std::strerror(errno));
}

Status OutputFile::write(std::span<const std::byte> bytes) {
  if (!bytes.empty() && std::fwrite(bytes.data(), 1, bytes.size(), stream) != bytes.size())
    return fail("write");
  return {};
}

Status OutputFile::write(std::string_view text) { return write(std::as_bytes(std::span(text))); }

Status OutputFile::flush() { return std::fflush(stream) == 0 ? Status() : fail("write"); }

Status OutputFile::sync() {
  MW_TRY(flush());
  return fsync(fileno(stream)) == 0 ? Status() : fail("write");
}

Status OutputFile::commit() {
  MW_TRY(flush());
  if (replaces && temporary.empty())
    MW_TRY(link());
  if (stream != stdout) {
    int failed = std::fclose(stream);
    stream = nullptr;
    if (failed)
      return fail("write");
  }
  if (!temporary.empty() && std::rename(temporary.c_str(), name.c_str()) != 0)
    return fail("write");
  temporary.clear();
  return {};
}
