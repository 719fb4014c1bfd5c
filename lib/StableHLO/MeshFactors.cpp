//===- MeshFactors.cpp - parts of the axes of a mesh ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A device number is a mixed-radix number, and so is a coordinate on an axis. XLA's `devices=[4,2]<=[2,4]T(1,0)` says
// how the digits of a tile's position are digits of the device number: the numbers of the devices are laid out in the
// sizes on the right, transposed, and read in the sizes on the left. Where both sides are cut alike, each digit on the
// left is a run of digits on the right, which is what a part of an axis is.
//
//===----------------------------------------------------------------------===//

#include "MeshFactors.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <numeric>

using namespace meshwright;
using namespace meshwright::importer;

/// More devices are no mesh of ranks here, and lists of them take memory.
static constexpr int64_t kMostDevices = 1 << 20;

bool importer::overlap(const AxisPart &a, const AxisPart &b) {
  return a.axis == b.axis && a.before < b.before * b.size && b.before < a.before * a.size;
}

//===----------------------------------------------------------------------===//
// Factors
//===----------------------------------------------------------------------===//

void MeshFactors::add(const AxisPart &part) { cuts[part.axis].append({part.before, part.before * part.size}); }

std::optional<unsigned> MeshFactors::find() {
  for (auto [axis, list] : llvm::enumerate(cuts)) {
    list.append({1, sizes[axis]});
    llvm::sort(list);
    list.erase(std::unique(list.begin(), list.end()), list.end());
    for (size_t index = 1; index < list.size(); ++index)
      if (list[index] % list[index - 1] != 0)
        return axis;
  }
  return std::nullopt;
}

llvm::SmallVector<AxisPart> MeshFactors::getFactors(const AxisPart &part) const {
  llvm::SmallVector<AxisPart> factors;
  llvm::ArrayRef<int64_t> list = cuts[part.axis];
  if (part.size == 1 && sizes[part.axis] == 1)
    return {part};
  for (size_t index = 1; index < list.size(); ++index)
    if (list[index - 1] >= part.before && list[index] <= part.before * part.size)
      factors.push_back({part.axis, list[index - 1], list[index] / list[index - 1]});
  return factors;
}

//===----------------------------------------------------------------------===//
// Shardings of XLA
//===----------------------------------------------------------------------===//

namespace {

/// A digit of the device number.
struct Digit {
  int64_t size;
  int64_t stride;
};

/// Reads a text from its beginning.
class Reader {
public:
  explicit Reader(llvm::StringRef text) : rest(text.trim()) {}

  bool take(llvm::StringRef token) {
    rest = rest.ltrim();
    return rest.consume_front(token);
  }
  /// Parses numbers with commas between them; at least one.
  bool takeNumbers(llvm::SmallVectorImpl<int64_t> &numbers) {
    do {
      rest = rest.ltrim();
      if (rest.consumeInteger(10, numbers.emplace_back()))
        return false;
    } while (take(","));
    return true;
  }
  bool takeList(llvm::StringRef open, llvm::SmallVectorImpl<int64_t> &numbers, llvm::StringRef close) {
    return take(open) && takeNumbers(numbers) && take(close);
  }
  bool atEnd() { return rest.trim().empty(); }

private:
  llvm::StringRef rest;
};

} // namespace

/// The product of `sizes`; nothing if one is not positive or if the product is too large.
static std::optional<int64_t> multiply(llvm::ArrayRef<int64_t> sizes) {
  int64_t product = 1;
  for (int64_t size : sizes) {
    if (size < 1 || size > kMostDevices / product)
      return std::nullopt;
    product *= size;
  }
  return product;
}

/// The digits of the numbers 0, 1, … in the shape `sizes`, in the order `permutation`.
static std::optional<llvm::SmallVector<Digit>> transpose(llvm::ArrayRef<int64_t> sizes,
                                                         llvm::ArrayRef<int64_t> permutation) {
  llvm::SmallVector<Digit> digits(sizes.size()), result;
  int64_t stride = 1;
  for (size_t dim = sizes.size(); dim-- > 0; stride *= sizes[dim])
    digits[dim] = {sizes[dim], stride};
  if (permutation.empty())
    return digits;
  llvm::SmallVector<bool> seen(sizes.size(), false);
  for (int64_t dim : permutation) {
    if (dim < 0 || dim >= static_cast<int64_t>(sizes.size()) || seen[dim])
      return std::nullopt;
    seen[dim] = true;
    result.push_back(digits[dim]);
  }
  return result.size() == sizes.size() ? std::optional(result) : std::nullopt;
}

/// The digits, most significant first, of a list of devices in which each number occurs once; nothing if no digits
/// describe it.
static std::optional<llvm::SmallVector<Digit>> findDigits(llvm::ArrayRef<int64_t> devices) {
  auto count = static_cast<int64_t>(devices.size());
  llvm::SmallVector<Digit> digits;
  for (int64_t step = 1; step < count;) {
    Digit digit{1, devices[step]};
    while ((digit.size + 1) * step <= count && digit.size * step < count &&
           devices[digit.size * step] == digit.size * digit.stride)
      ++digit.size;
    while (digit.size > 1 && count % (step * digit.size) != 0)
      --digit.size;
    if (digit.size < 2 || digit.stride < 1)
      return std::nullopt;
    digits.insert(digits.begin(), digit);
    step *= digit.size;
  }
  for (int64_t position = 0; position < count; ++position) {
    int64_t device = 0, rest = position;
    for (const Digit &digit : llvm::reverse(digits)) {
      device += rest % digit.size * digit.stride;
      rest /= digit.size;
    }
    if (device != devices[position])
      return std::nullopt;
  }
  return digits;
}

/// Divides `digits` among tiles of these sizes, as parts of one axis of all devices. Fails where a tile would end
/// inside of a digit that it does not divide.
static std::optional<llvm::SmallVector<llvm::SmallVector<AxisPart>>>
divide(llvm::SmallVector<Digit> digits, llvm::ArrayRef<int64_t> tiles, int64_t devices) {
  llvm::SmallVector<llvm::SmallVector<AxisPart>> parts(tiles.size());
  for (size_t dim = tiles.size(); dim-- > 0;) {
    int64_t left = tiles[dim];
    while (left > 1) {
      while (!digits.empty() && digits.back().size == 1)
        digits.pop_back();
      if (digits.empty())
        return std::nullopt;
      Digit &digit = digits.back();
      int64_t size = std::gcd(left, digit.size);
      if (size == 1)
        return std::nullopt;
      AxisPart part{0, devices / (digit.stride * size), size};
      // A more significant neighbour joins the part found before it.
      if (!parts[dim].empty() && part.before * part.size == parts[dim].front().before)
        parts[dim].front() = {0, part.before, part.size * parts[dim].front().size};
      else
        parts[dim].insert(parts[dim].begin(), part);
      digit.size /= size;
      digit.stride *= size;
      left /= size;
    }
  }
  return parts;
}

/// Parses what follows `devices=`.
static std::optional<std::string> parseDevices(Reader &reader, DeviceSharding &sharding) {
  llvm::SmallVector<int64_t> tiles, sizes, permutation;
  if (!reader.takeList("[", tiles, "]"))
    return "a list of tiles such as [2,1] follows \"devices=\"";
  std::optional<llvm::SmallVector<Digit>> digits;
  std::optional<int64_t> devices = multiply(tiles);
  if (!devices)
    return "the number of its tiles is not between 1 and " + std::to_string(kMostDevices);
  if (reader.take("<=")) {
    if (!reader.takeList("[", sizes, "]") || (reader.take("T") && !reader.takeList("(", permutation, ")")))
      return "sizes such as [4] or [2,2]T(1,0) follow \"<=\"";
    if (multiply(sizes) != devices)
      return "its tiles are " + std::to_string(*devices) + " but the sizes after \"<=\" multiply to something else";
    digits = transpose(sizes, permutation);
    if (!digits)
      return std::string("T is no permutation of the sizes");
  } else {
    llvm::SmallVector<int64_t> list;
    if (!reader.takeNumbers(list) || static_cast<int64_t>(list.size()) != *devices)
      return "it has " + std::to_string(*devices) + " tiles, and a list of as many devices";
    digits = findDigits(list);
    if (!digits)
      return std::string("no axes describe the order of its devices");
  }
  auto parts = divide(*digits, tiles, *devices);
  if (!parts)
    return std::string("a tile ends within a factor of the devices");
  if (reader.take("last_tile_dim_replicate"))
    parts->pop_back();
  if (reader.take("last_tile_dims={"))
    do {
      bool manual = reader.take("manual");
      if (parts->empty() || (!manual && !reader.take("replicated")))
        return std::string("its last tiles are of kinds other than \"replicated\" and \"manual\"");
      sharding.isManual |= manual;
      parts->pop_back();
    } while (!reader.take("}") && reader.take(","));
  sharding.devices = *devices;
  sharding.dims = std::move(*parts);
  return std::nullopt;
}

std::optional<std::string> importer::parseDeviceSharding(llvm::StringRef text, DeviceSharding &sharding) {
  Reader reader(text);
  if (!reader.take("{"))
    return std::string("it begins with a brace");
  llvm::SmallVector<int64_t> list;
  if (reader.take("devices=")) {
    if (std::optional<std::string> problem = parseDevices(reader, sharding))
      return problem;
  } else if (reader.take("maximal")) {
    if (!reader.take("device=") || !reader.takeNumbers(list) || list.size() != 1)
      return std::string("\"device=0\" follows \"maximal\"");
  } else if (reader.take("manual")) {
    return std::string(
        "\"manual\" is of a program per device; export shard_map with Shardy (jax_use_shardy_partitioner)");
  } else if (!reader.take("replicated")) {
    return std::string("known are \"devices=\", \"replicated\" and \"maximal\"");
  }
  if (reader.take("metadata="))
    return std::nullopt;
  if (!reader.take("}") || !reader.atEnd())
    return std::string("text follows what is known");
  return std::nullopt;
}
