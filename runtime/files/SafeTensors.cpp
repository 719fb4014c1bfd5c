//===- SafeTensors.cpp - the safetensors format ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The reader checks every entry of the header and that the ranges of all tensors cover the data exactly once, after
// which a tensor is a view of the mapped file. The writer fixes the header first, so that tensors are appended without
// a copy of the whole file in memory.
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/SafeTensors.h"
#include "meshwright/runtime/Json.h"
#include <algorithm>
#include <bit>
#include <cstring>

using namespace meshwright;
using namespace meshwright::runtime;

static_assert(std::endian::native == std::endian::little, "files are little-endian and are mapped as they are");

/// Header lengths beyond this are refused, whatever the file's size.
static constexpr uint64_t maxHeaderBytes = 100'000'000;

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

namespace {

struct Range {
  uint64_t begin, end;
  const std::string *name;
};

/// A number of the header as a non-negative integer that fits 63 bits.
std::optional<uint64_t> getCount(const Json &value) {
  if (!value.is_number_unsigned() || value.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX))
    return std::nullopt;
  return value.get<uint64_t>();
}

/// Reads one entry of the header; `data` are the bytes after it.
Result<TensorView> readEntry(const std::string &name, const Json &entry, std::span<const std::byte> data,
                             Range &range) {
  if (!entry.is_object())
    return inputError("tensor \"{}\" is described by {} and not by an object", name, entry.type_name());
  for (const char *key : {"dtype", "shape", "data_offsets"})
    if (!entry.contains(key))
      return inputError("tensor \"{}\" has no {}", name, key);
  TensorView view;
  const Json &dtype = entry["dtype"];
  std::optional<DType> type = dtype.is_string() ? parseDType(dtype.get_ref<const std::string &>()) : std::nullopt;
  if (!type)
    return inputError("tensor \"{}\" has dtype {}, which is none of F32, F64, BF16, F16, BOOL, I8 to I64, U8 to U64, "
                      "F8_E4M3, F8_E5M2, F8_E4M3FNUZ, F8_E5M2FNUZ",
                      name, toText(dtype));
  view.type = *type;
  if (!entry["shape"].is_array())
    return inputError("tensor \"{}\" has shape {}, which is no array", name, toText(entry["shape"]));
  for (const Json &size : entry["shape"]) {
    std::optional<uint64_t> count = getCount(size);
    if (!count)
      return inputError("tensor \"{}\" has size {} in its shape, which is no size", name, toText(size));
    view.shape.push_back(static_cast<int64_t>(*count));
  }
  std::optional<uint64_t> elements = getNumElements(view.shape);
  if (!elements)
    return inputError("tensor \"{}\" has shape {}, whose bytes cannot be counted in 63 bits", name,
                      toString(view.shape));
  const Json &offsets = entry["data_offsets"];
  std::optional<uint64_t> begin, end;
  if (offsets.is_array() && offsets.size() == 2) {
    begin = getCount(offsets[0]);
    end = getCount(offsets[1]);
  }
  if (!begin || !end || *begin > *end)
    return inputError("tensor \"{}\" has data_offsets {}, which are no range of bytes", name, toText(offsets));
  if (*end > data.size())
    return inputError("tensor \"{}\" ends at byte {} of the data, of which the file has {}", name, *end, data.size());
  uint64_t bytes = *elements * getSize(view.type);
  if (*end - *begin != bytes)
    return inputError("tensor \"{}\" of {} takes {} bytes but its data_offsets span {}", name,
                      toString(view.shape, view.type), bytes, *end - *begin);
  view.bytes = data.subspan(*begin, bytes);
  range = {*begin, *end, &name};
  return view;
}

/// The ranges cover the data once.
Status checkCover(std::vector<Range> ranges, uint64_t size) {
  std::sort(ranges.begin(), ranges.end(),
            [](const Range &a, const Range &b) { return std::pair(a.begin, a.end) < std::pair(b.begin, b.end); });
  uint64_t end = 0;
  const std::string *previous = nullptr;
  for (const Range &range : ranges) {
    if (range.begin < end)
      return inputError("tensor \"{}\" begins at byte {} but tensor \"{}\" before it ends at byte {}", *range.name,
                        range.begin, *previous, end);
    if (range.begin > end)
      return inputError("bytes {} to {} before tensor \"{}\" belong to no tensor", end, range.begin, *range.name);
    end = range.end;
    previous = range.name;
  }
  if (end != size)
    return inputError("the tensors end at byte {} of the data but the file has {}", end, size);
  return {};
}

} // namespace

Status SafeTensors::readHeader() {
  std::span<const std::byte> bytes = file->bytes();
  if (bytes.size() < 8)
    return inputError("the file has {} bytes, fewer than the 8 of a header's length", bytes.size());
  uint64_t length;
  std::memcpy(&length, bytes.data(), 8);
  if (length > bytes.size() - 8 || length > maxHeaderBytes)
    return inputError("the header is {} bytes long but the file has {} after the length (and {} are the most allowed)",
                      length, bytes.size() - 8, maxHeaderBytes);
  std::string_view text(reinterpret_cast<const char *>(bytes.data()) + 8, length);
  MW_TRY_ASSIGN(Json header, parseJson(text));
  if (!header.is_object())
    return inputError("the header is JSON of type {} and not an object", header.type_name());
  std::span<const std::byte> data = bytes.subspan(8 + length);
  std::vector<Range> ranges;
  for (const auto &[name, entry] : header.items()) {
    if (name == "__metadata__")
      continue;
    auto position = entries.emplace(name, TensorView()).first;
    Range range;
    MW_TRY_ASSIGN(position->second, readEntry(position->first, entry, data, range));
    ranges.push_back(range);
  }
  return checkCover(std::move(ranges), data.size());
}

Result<SafeTensors> SafeTensors::open(const std::string &path) {
  MW_TRY_ASSIGN(InputFile file, InputFile::open(path));
  SafeTensors result;
  result.file = std::make_shared<InputFile>(std::move(file));
  MW_TRY(result.readHeader().within(path));
  return result;
}

const TensorView *SafeTensors::find(const std::string &name) const {
  auto position = entries.find(name);
  return position == entries.end() ? nullptr : &position->second;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

Result<SafeTensorsWriter> SafeTensorsWriter::create(const std::string &path,
                                                    const std::vector<SafeTensorsEntry> &entries,
                                                    const std::map<std::string, std::string> &metadata) {
  Json header = Json::object();
  if (!metadata.empty())
    header["__metadata__"] = metadata;
  uint64_t offset = 0;
  for (const SafeTensorsEntry &entry : entries) {
    uint64_t bytes = *getNumElements(entry.shape) * getSize(entry.type);
    Json described = Json::object();
    described["dtype"] = getSafeTensorsName(entry.type);
    described["shape"] = Json(entry.shape);
    described["data_offsets"] = {offset, offset + bytes};
    if (header.contains(entry.name))
      return inputError("two tensors are called \"{}\"", entry.name);
    header[entry.name] = std::move(described);
    offset += bytes;
  }
  std::string text = toText(header);
  // The data begins at a multiple of 8, so that readers can map it.
  text.append((8 - text.size() % 8) % 8, ' ');
  uint64_t length = text.size();
  MW_TRY_ASSIGN(OutputFile file, OutputFile::create(path));
  SafeTensorsWriter writer(std::move(file));
  writer.expected = offset;
  MW_TRY(writer.file.write(std::as_bytes(std::span(&length, 1))));
  MW_TRY(writer.file.write(text));
  return writer;
}

Status SafeTensorsWriter::append(std::span<const std::byte> bytes) {
  written += bytes.size();
  return file.write(bytes);
}

Status SafeTensorsWriter::commit() {
  assert(written == expected && "a tensor was left out or written short");
  return file.commit();
}
