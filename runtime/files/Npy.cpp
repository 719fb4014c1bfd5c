//===- Npy.cpp - numpy's array files --------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Layout: the magic `\x93NUMPY`, a version (two bytes), the header's length (two bytes in version 1, four later), and
// a header that is a Python dictionary: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }.
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/Npy.h"
#include <charconv>
#include <cstring>

using namespace meshwright;
using namespace meshwright::runtime;

namespace {

/// Reads the dictionary; every `take` skips white space first.
class HeaderReader {
public:
  explicit HeaderReader(std::string_view text) : text(text) {}

  Status read() {
    if (!take("{"))
      return unexpected("{");
    while (!take("}")) {
      MW_TRY_ASSIGN(std::string_view key, readString());
      if (!take(":"))
        return unexpected(":");
      MW_TRY(readValue(key));
      if (!take(",") && (skip(), text.empty() || text[0] != '}'))
        return unexpected(", or }");
    }
    if (!sawType || !sawOrder || !sawShape)
      return inputError("the header lacks one of descr, fortran_order and shape");
    return {};
  }

  std::string_view descr;
  bool fortran = false;
  Shape shape;

private:
  Status readValue(std::string_view key) {
    if (key == "descr") {
      MW_TRY_ASSIGN(descr, readString());
      sawType = true;
      return {};
    }
    if (key == "fortran_order") {
      fortran = take("True");
      if (!fortran && !take("False"))
        return unexpected("True or False");
      sawOrder = true;
      return {};
    }
    if (key == "shape") {
      sawShape = true;
      return readShape();
    }
    return inputError("the header has the key \"{}\", which is none of descr, fortran_order and shape", key);
  }

  Status readShape() {
    shape.clear();
    if (!take("("))
      return unexpected("(");
    while (!take(")")) {
      skip();
      int64_t size = 0;
      auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
      if (error != std::errc() || size < 0)
        return unexpected("a size");
      text.remove_prefix(end - text.data());
      shape.push_back(size);
      if (!take(",") && (skip(), text.empty() || text[0] != ')'))
        return unexpected(", or )");
    }
    return {};
  }

  Result<std::string_view> readString() {
    skip();
    char quote = text.empty() ? 0 : text[0];
    size_t end = quote == '\'' || quote == '"' ? text.find(quote, 1) : std::string_view::npos;
    if (end == std::string_view::npos)
      return unexpected("a string");
    std::string_view result = text.substr(1, end - 1);
    text.remove_prefix(end + 1);
    return result;
  }

  void skip() {
    while (!text.empty() && (text[0] == ' ' || text[0] == '\n' || text[0] == '\t'))
      text.remove_prefix(1);
  }
  bool take(std::string_view token) {
    skip();
    if (!text.starts_with(token))
      return false;
    text.remove_prefix(token.size());
    return true;
  }
  Status unexpected(std::string_view wanted) const {
    return inputError("the header has \"{}\" where {} is wanted", text.substr(0, 16), wanted);
  }

  std::string_view text;
  bool sawType = false, sawOrder = false, sawShape = false;
};

/// The type that numpy's `descr` names.
Result<DType> getType(std::string_view descr) {
  char order = descr.empty() ? 0 : descr[0];
  if (descr.size() == 3 && (order == '<' || order == '|' || order == '=')) {
    std::string_view kind = descr.substr(1);
    if (kind == "b1")
      return I1;
    if (kind[0] == 'i' || kind[0] == 'u' || kind[0] == 'f') {
      static const std::string_view bits[] = {"8", "16", "32", "64"};
      size_t log = kind[1] == '1' ? 0 : kind[1] == '2' ? 1 : kind[1] == '4' ? 2 : kind[1] == '8' ? 3 : 4;
      if (log < 4)
        if (std::optional<DType> type = parseDType(std::string(1, kind[0]) + std::string(bits[log])))
          return *type;
    }
    // The descriptions that numpy writes for the types of ml_dtypes.
    if (kind == "V1" || kind == "V2" || kind == "f1")
      return inputError("the elements are \"{}\", of which numpy does not say what they are; the bytes alone "
                        "(array.tofile) and their type, as in --data NAME=FILE:{}, or a safetensors file would do",
                        descr,
                        kind == "V2"   ? "bf16"
                        : kind == "f1" ? "f8E5M2"
                                       : "f8E4M3FN");
  }
  return inputError("the elements are \"{}\", which is no little-endian boolean, integer or float", descr);
}

} // namespace

Result<TensorView> meshwright::runtime::readNpy(std::span<const std::byte> bytes) {
  static const char magic[] = "\x93NUMPY";
  if (bytes.size() < 10 || std::memcmp(bytes.data(), magic, 6) != 0)
    return inputError("the file does not begin as a .npy file");
  unsigned version = static_cast<unsigned>(bytes[6]);
  size_t lengthBytes = version == 1 ? 2 : 4;
  if (version < 1 || version > 3 || bytes.size() < 8 + lengthBytes)
    return inputError("the .npy file has version {} and {} bytes", version, bytes.size());
  uint32_t length = 0;
  std::memcpy(&length, bytes.data() + 8, lengthBytes);
  size_t begin = 8 + lengthBytes;
  if (length > bytes.size() - begin)
    return inputError("the header is {} bytes long but {} are left of the file", length, bytes.size() - begin);
  HeaderReader reader(std::string_view(reinterpret_cast<const char *>(bytes.data()) + begin, length));
  MW_TRY(reader.read());
  MW_TRY_ASSIGN(DType type, getType(reader.descr));
  if (reader.fortran && reader.shape.size() > 1)
    return inputError("the array is stored column-major; row-major is wanted (numpy.ascontiguousarray)");
  std::optional<uint64_t> count = getNumElements(reader.shape);
  std::span<const std::byte> data = bytes.subspan(begin + length);
  if (!count || *count * getSize(type) != data.size())
    return inputError("an array of {} does not take the {} bytes that follow the header", toString(reader.shape, type),
                      data.size());
  return TensorView{type, reader.shape, data};
}
