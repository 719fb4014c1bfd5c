//===- CheckpointIndex.cpp - reading and writing the index ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes and parses `index.json`. The digits of a variable become a mesh with one axis per digit, on which the
// coordinates of a part are those of a rank: layouts then describe the parts of checkpoints as they do those of ranks.
// Each function of the parser reads one kind of entry and refuses unknown keys.
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/CheckpointIndex.h"
#include "meshwright/runtime/Checksum.h"
#include "meshwright/runtime/Json.h"
#include <algorithm>
#include <charconv>
#include <set>

using namespace meshwright;
using namespace meshwright::runtime;

static constexpr int64_t version = 1;
static constexpr const char *versionKey = "meshwright_checkpoint";

Result<Layout> CheckpointVariable::makeLayout() const {
  Placement placement;
  std::vector<std::string> names;
  std::vector<int64_t> sizes;
  for (const std::vector<Digit> &dim : digits) {
    DimSplits *splits = placement.add_dims();
    for (const Digit &digit : dim) {
      if (digit.extent < 0 || digit.stride < 1)
        return inputError("a digit has extent {} and stride {}", digit.extent, digit.stride);
      Split *split = splits->add_splits();
      split->set_axis(static_cast<uint32_t>(sizes.size()));
      split->set_extent(digit.extent);
      split->set_stride(digit.stride);
      names.push_back(fmt::format("digit {}", sizes.size()));
      sizes.push_back(std::max<int64_t>(digit.extent / digit.stride + (digit.extent % digit.stride != 0), 1));
    }
  }
  MW_TRY_ASSIGN(Mesh mesh, Mesh::create(std::move(names), sizes));
  for (const CheckpointPart &part : parts) {
    if (part.at.size() != sizes.size())
      return inputError("a part has {} coordinates but {} digits split the variable", part.at.size(), sizes.size());
    for (size_t i = 0; i != sizes.size(); ++i)
      if (part.at[i] < 0 || part.at[i] >= sizes[i])
        return inputError("a part is at coordinate {} of a digit with {} of them", part.at[i], sizes[i]);
  }
  return Layout::create(placement, mesh, shape);
}

const CheckpointVariable *CheckpointIndex::find(const std::string &name) const {
  auto found = std::find_if(variables.begin(), variables.end(), [&](const auto &v) { return v.name == name; });
  return found == variables.end() ? nullptr : &*found;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

std::string CheckpointIndex::toJson() const {
  Json list = Json::array();
  for (const CheckpointVariable &variable : variables) {
    Json entry = {{"name", variable.name}, {"dtype", getName(variable.type)}, {"shape", variable.shape}};
    if (!variable.kind.empty())
      entry["kind"] = variable.kind;
    entry["digits"] = Json::array();
    for (const auto &dim : variable.digits) {
      Json digits = Json::array();
      for (const CheckpointVariable::Digit &digit : dim)
        digits.push_back(Json::array({digit.extent, digit.stride}));
      entry["digits"].push_back(std::move(digits));
    }
    if (variable.addends != 1)
      entry["addends"] = variable.addends;
    entry["parts"] = Json::array();
    for (const CheckpointPart &part : variable.parts) {
      entry["parts"].push_back({{"file", part.file}, {"at", part.at}, {"checksum", formatChecksum(part.checksum)}});
      if (variable.addends != 1)
        entry["parts"].back()["addend"] = part.addend;
    }
    list.push_back(std::move(entry));
  }
  Json content = {{"step", step}, {"data_position", dataPosition}, {"seed", seed}, {"variables", std::move(list)}};
  if (nonFinite)
    content["non_finite"] = *nonFinite;
  if (accumulationPosition != 0)
    content["merge"] = {{"position", accumulationPosition}, {"steps", accumulationSteps}};
  std::string text = toText(content);
  return fmt::format("{{\"{}\":{},\"checksum\":\"{}\",\"content\":{}}}\n", versionKey, version,
                     formatChecksum(computeChecksum(std::as_bytes(std::span(text)))), text);
}

//===----------------------------------------------------------------------===//
// Parsing
//===----------------------------------------------------------------------===//

/// Checks that `entry` is an object with all keys of `wanted` and no others but `optional`.
static Status checkKeys(const Json &entry, std::initializer_list<std::string_view> wanted,
                        std::initializer_list<std::string_view> optional, std::string_view what) {
  if (!entry.is_object())
    return inputError("{} is JSON of type {} and not an object", what, entry.type_name());
  for (std::string_view key : wanted)
    if (!entry.contains(key))
      return inputError("{} lacks \"{}\"", what, key);
  for (const auto &[key, value] : entry.items())
    if (std::find(wanted.begin(), wanted.end(), key) == wanted.end() &&
        std::find(optional.begin(), optional.end(), key) == optional.end())
      return inputError("{} has \"{}\", which version {} of the index does not know", what, key, version);
  return {};
}

static Result<int64_t> readNumber(const Json &value, std::string_view what) {
  if (!value.is_number_integer() || (value.is_number_unsigned() && value.get<uint64_t>() > INT64_MAX) ||
      value.get<int64_t>() < 0)
    return inputError("{} is {}, which is no whole number from 0 to {}", what, toText(value), INT64_MAX);
  return value.get<int64_t>();
}

static Result<std::vector<int64_t>> readNumbers(const Json &value, std::string_view what) {
  if (!value.is_array())
    return inputError("{} is JSON of type {} and not a list", what, value.type_name());
  std::vector<int64_t> numbers;
  for (const Json &element : value) {
    MW_TRY_ASSIGN(int64_t number, readNumber(element, what));
    numbers.push_back(number);
  }
  return numbers;
}

static Result<std::string> readText(const Json &value, std::string_view what) {
  if (!value.is_string())
    return inputError("{} is JSON of type {} and not a string", what, value.type_name());
  return value.get<std::string>();
}

static Result<uint32_t> readChecksum(const Json &value) {
  MW_TRY_ASSIGN(std::string text, readText(value, "a checksum"));
  uint32_t checksum = 0;
  std::string_view digits = std::string_view(text).substr(std::min<size_t>(7, text.size()));
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), checksum, 16);
  if (error != std::errc() || formatChecksum(checksum) != text)
    return inputError("\"{}\" is no checksum, as crc32c:e3069283 is", text);
  return checksum;
}

static Result<CheckpointPart> readPart(const Json &entry, uint64_t addends) {
  MW_TRY(checkKeys(entry, {"file", "at", "checksum"}, {"addend"}, "a part"));
  CheckpointPart part;
  if (entry.contains("addend")) {
    MW_TRY_ASSIGN(part.addend, readNumber(entry["addend"], "an addend"));
  }
  if (part.addend >= addends || entry.contains("addend") != (addends > 1))
    return inputError("a part is of addend {} of a variable with {} of them", part.addend, addends);
  MW_TRY_ASSIGN(part.file, readText(entry["file"], "a file's name"));
  // The file lies in the checkpoint's own folder.
  if (part.file.empty() || part.file[0] == '.' || part.file.find_first_of(std::string("/\0", 2)) != std::string::npos)
    return inputError("\"{}\" is no file of a checkpoint's folder", part.file);
  MW_TRY_ASSIGN(part.at, readNumbers(entry["at"], "a coordinate"));
  MW_TRY_ASSIGN(part.checksum, readChecksum(entry["checksum"]));
  return part;
}

static Status readDigits(const Json &entry, CheckpointVariable &variable) {
  if (!entry.is_array() || entry.size() != variable.shape.size())
    return inputError("its digits are given for {} dimensions but it has {}", entry.size(), variable.shape.size());
  for (const Json &dim : entry) {
    auto &digits = variable.digits.emplace_back();
    if (!dim.is_array())
      return inputError("the digits of a dimension are JSON of type {} and not a list", dim.type_name());
    for (const Json &digit : dim) {
      MW_TRY_ASSIGN(std::vector<int64_t> numbers, readNumbers(digit, "a digit"));
      if (numbers.size() != 2)
        return inputError("a digit has {} numbers where an extent and a stride are wanted", numbers.size());
      digits.push_back({numbers[0], numbers[1]});
    }
  }
  return {};
}

static Status readAddends(const Json &entry, CheckpointVariable &variable) {
  MW_TRY_ASSIGN(variable.addends, readNumber(entry, "the number of addends"));
  if (variable.addends < 2)
    return inputError("it is the sum of {} addends where 2 are the least", variable.addends);
  if (!variable.isAccumulator() || (!isFloat(variable.type) && !isInteger(variable.type)))
    return inputError("it is a sum of addends, but its kind is \"{}\" and its type {}", variable.kind,
                      getName(variable.type));
  return {};
}

static Status readVariable(const Json &entry, CheckpointVariable &variable) {
  MW_TRY_ASSIGN(std::string type, readText(entry["dtype"], "its type"));
  std::optional<DType> parsed = parseDType(type);
  if (!parsed)
    return inputError("its type \"{}\" is no element type", type);
  variable.type = *parsed;
  MW_TRY_ASSIGN(variable.shape, readNumbers(entry["shape"], "a size"));
  if (!getNumElements(variable.shape))
    return inputError("a shape of {} has more elements than can be counted", toString(variable.shape));
  if (entry.contains("kind")) {
    MW_TRY_ASSIGN(variable.kind, readText(entry["kind"], "its kind"));
  }
  MW_TRY(readDigits(entry["digits"], variable));
  if (!entry["parts"].is_array())
    return inputError("its parts are JSON of type {} and not a list", entry["parts"].type_name());
  if (entry.contains("addends"))
    MW_TRY(readAddends(entry["addends"], variable));
  std::set<std::pair<uint64_t, std::vector<int64_t>>> places;
  for (const Json &element : entry["parts"]) {
    MW_TRY_ASSIGN(CheckpointPart part, readPart(element, variable.addends));
    if (!places.emplace(part.addend, part.at).second)
      return inputError("two parts are at [{}]", fmt::join(part.at, ", "));
    variable.parts.push_back(std::move(part));
  }
  return variable.makeLayout().status();
}

static Status readAccumulation(const Json &entry, CheckpointIndex &index) {
  MW_TRY(checkKeys(entry, {"position", "steps"}, {}, "the accumulation"));
  MW_TRY_ASSIGN(int64_t position, readNumber(entry["position"], "the position in the accumulation"));
  MW_TRY_ASSIGN(int64_t steps, readNumber(entry["steps"], "the number of accumulated steps"));
  if (position < 1 || position >= steps || steps > UINT32_MAX)
    return inputError("an accumulation of {} steps is said to be under way after {}", steps, position);
  index.accumulationPosition = static_cast<uint32_t>(position);
  index.accumulationSteps = static_cast<uint32_t>(steps);
  return {};
}

static Status readNonFinite(const Json &entry, CheckpointIndex &index) {
  if (!entry.is_array())
    return inputError("the variables that are not finite are JSON of type {} and not a list", entry.type_name());
  index.nonFinite.emplace();
  for (const Json &name : entry) {
    MW_TRY_ASSIGN(index.nonFinite->emplace_back(), readText(name, "a variable's name"));
    if (!index.find(index.nonFinite->back()))
      return inputError("the variable \"{}\" is said not to be finite, but there is none of that name",
                        index.nonFinite->back());
  }
  return {};
}

/// The content of an index of this version whose checksum is right.
static Result<Json> readContent(std::string_view text) {
  MW_TRY_ASSIGN(Json root, parseJson(text));
  if (!root.is_object() || !root.contains(versionKey))
    return inputError("the file is no index of a checkpoint: it has no \"{}\"", versionKey);
  if (root[versionKey] != version)
    return inputError("the index has version {} but this program reads version {}", toText(root[versionKey]), version);
  MW_TRY(checkKeys(root, {versionKey, "checksum", "content"}, {}, "the index"));
  MW_TRY_ASSIGN(uint32_t expected, readChecksum(root["checksum"]));
  Json content = std::move(root["content"]);
  std::string printed = toText(content);
  uint32_t found = computeChecksum(std::as_bytes(std::span(printed)));
  if (found != expected)
    return inputError("the index has checksum {} but says {}", formatChecksum(found), formatChecksum(expected));
  return content;
}

Result<CheckpointIndex> CheckpointIndex::parse(std::string_view text) {
  MW_TRY_ASSIGN(Json content, readContent(text));
  MW_TRY(checkKeys(content, {"step", "data_position", "seed", "variables"}, {"merge", "non_finite"}, "the index"));
  CheckpointIndex index;
  MW_TRY_ASSIGN(index.step, readNumber(content["step"], "the step"));
  MW_TRY_ASSIGN(index.dataPosition, readNumber(content["data_position"], "the data position"));
  // A seed may have all 64 bits.
  if (!content["seed"].is_number_unsigned())
    return inputError("the seed is {}, which is no whole number", toText(content["seed"]));
  index.seed = content["seed"].get<uint64_t>();
  if (content.contains("merge"))
    MW_TRY(readAccumulation(content["merge"], index));
  if (!content["variables"].is_array())
    return inputError("the variables are JSON of type {} and not a list", content["variables"].type_name());
  std::set<std::string> names;
  for (const Json &entry : content["variables"]) {
    MW_TRY(checkKeys(entry, {"name", "dtype", "shape", "digits", "parts"}, {"kind", "addends"}, "a variable"));
    CheckpointVariable &variable = index.variables.emplace_back();
    MW_TRY_ASSIGN(variable.name, readText(entry["name"], "a variable's name"));
    if (!names.insert(variable.name).second)
      return inputError("two variables are called \"{}\"", variable.name);
    MW_TRY(readVariable(entry, variable).within(fmt::format("variable \"{}\"", variable.name)));
  }
  if (content.contains("non_finite"))
    MW_TRY(readNonFinite(content["non_finite"], index));
  return index;
}
