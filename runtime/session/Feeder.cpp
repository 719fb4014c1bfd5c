//===- Feeder.cpp - the inputs of each step -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fills the inputs of a step from three kinds of sources: a feed (one file of whole inputs, or one for each step), a
// data file that is cut into windows of one row each (row r of step s takes window s * rows + r, modulo the number of
// windows), or a key of random numbers made from a seed and the step. Values are converted to the input's type and
// checked against its range.
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/Feeder.h"
#include "meshwright/runtime/Npy.h"
#include <charconv>
#include <cstring>
#include <fmt/ranges.h>
#include <set>

using namespace meshwright;
using namespace meshwright::runtime;

static constexpr std::string_view kStepPrefix = "step:";

static Result<uint32_t> parseSeed(const std::string &digits, const std::string &text) {
  uint32_t seed = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), seed);
  if (error != std::errc() || end != digits.data() + digits.size())
    return usageError("\"{}\" is not of the form NAME=step:SEED, with a seed below 2^32", text);
  return seed;
}

Result<DataSource> DataSource::parse(const std::string &text) {
  size_t equals = text.find('=');
  if (equals == 0 || equals == std::string::npos || equals + 1 == text.size())
    return usageError("\"{}\" is not of the form NAME=FILE, NAME=FILE:dtype or NAME=step:SEED", text);
  DataSource source;
  source.input = text.substr(0, equals);
  source.path = text.substr(equals + 1);
  if (source.path.starts_with(kStepPrefix)) {
    MW_TRY_ASSIGN(source.seed, parseSeed(source.path.substr(kStepPrefix.size()), text));
    return source;
  }
  size_t colon = source.path.rfind(':');
  if (colon != std::string::npos && (source.type = parseDType(source.path.substr(colon + 1))))
    source.path.resize(colon);
  return source;
}

Status meshwright::runtime::checkRange(const TensorView &values, std::optional<double> min, std::optional<double> max) {
  if (!min && !max)
    return {};
  uint64_t size = getSize(values.type);
  for (uint64_t i = 0, n = values.size(); i != n; ++i) {
    double value = loadAsDouble(values.type, values.bytes.data() + i * size);
    // A value that is no number lies in no interval.
    if ((!min || value >= *min) && (!max || value < *max))
      continue;
    std::vector<int64_t> index(values.shape.size());
    uint64_t left = i;
    for (size_t dim = index.size(); dim-- != 0; left /= values.shape[dim])
      index[dim] = left % values.shape[dim];
    return inputError("element [{}] is {}, outside [{}, {})", fmt::join(index, ", "), value,
                      min ? fmt::format("{}", *min) : "-inf", max ? fmt::format("{}", *max) : "inf");
  }
  return {};
}

/// Checks that an array can be taken for an input, which `where` names in the error.
static Status checkShape(const TensorView &found, DType type, const Shape &shape, const std::string &where) {
  if (canTakeFor(found.shape, shape))
    return {};
  return inputError("{} is {} but the tensor is {}", where, toString(shape, type), toString(found.shape, found.type));
}

Status meshwright::runtime::feed(Session &session, size_t input, const TensorView &value) {
  const Port &port = session.getPackage().message().inputs(static_cast<int>(input));
  const ValueSet &inputs = session.getInputs();
  std::string where = fmt::format("input \"{}\"", port.name());
  MW_TRY(checkShape(value, port.dtype(), inputs.getShape(input), where));
  Tensor converted;
  TensorView whole = value;
  if (value.type != port.dtype()) {
    converted = Tensor(port.dtype(), inputs.getShape(input));
    MW_TRY(convert(value, port.dtype(), converted.bytes).within(where));
    whole = converted.view();
  }
  MW_TRY(checkRange(whole, port.has_min() ? std::optional(port.min()) : std::nullopt,
                    port.has_max() ? std::optional(port.max()) : std::nullopt)
             .within(where));
  session.scatter(inputs, input, whole.bytes);
  return {};
}

//===----------------------------------------------------------------------===//
// One input
//===----------------------------------------------------------------------===//

namespace {

/// An input whose batches are cut from a file.
struct OpenData {
  std::string path;
  std::optional<InputFile> file;
  std::optional<SafeTensors> tensors;
  TensorView elements;
};

Result<OpenData> openData(const DataSource &source) {
  OpenData data;
  data.path = source.path;
  if (!source.type && source.path.ends_with(".safetensors")) {
    MW_TRY_ASSIGN(data.tensors, SafeTensors::open(source.path));
    const auto &tensors = data.tensors->tensors();
    const TensorView *view = data.tensors->find(source.input);
    if (!view && tensors.size() == 1)
      view = &tensors.begin()->second;
    if (!view)
      return inputError("{}: none of the {} tensors is called \"{}\"", source.path, tensors.size(), source.input);
    data.elements = *view;
    return data;
  }
  MW_TRY_ASSIGN(data.file, InputFile::open(source.path));
  std::span<const std::byte> bytes = data.file->bytes();
  if (!source.type) {
    auto view = readNpy(bytes);
    if (!view.ok() && !source.path.ends_with(".npy"))
      return usageError("{} is neither a .npy nor a .safetensors file; raw data needs its type, as in {}={}:u8",
                        source.path, source.input, source.path);
    if (!view.ok())
      return view.status().within(source.path);
    data.elements = *view;
    return data;
  }
  uint64_t size = getSize(*source.type);
  data.elements = {*source.type, {static_cast<int64_t>(bytes.size() / size)}, bytes.first(bytes.size() / size * size)};
  return data;
}

struct Input {
  std::string name;
  size_t index;
  Tensor value;
  std::optional<double> min, max;
  std::optional<OpenData> data;
  std::optional<uint32_t> seed;
  int64_t rows = 1, window = 1; // with data: how many windows a step takes, and their length
};

} // namespace

//===----------------------------------------------------------------------===//
// Feeder
//===----------------------------------------------------------------------===//

struct Feeder::Implementation {
  std::vector<Input> inputs;
  std::string feed;
  bool perStep = false;
  bool loaded = false;

  Status openInput(Input &input, const DataSource &source) {
    if (source.seed)
      return openKey(input, *source.seed);
    MW_TRY_ASSIGN(input.data, openData(source));
    const Shape &shape = input.value.shape;
    input.rows = shape.empty() ? 1 : shape[0];
    input.window = 1;
    for (size_t dim = 1; dim < shape.size(); ++dim)
      input.window *= shape[dim];
    int64_t elements = input.data->elements.size(), wanted = input.rows * input.window;
    if (elements < wanted)
      return inputError("{}: {} elements are fewer than the {} of one batch of input \"{}\" ({})", source.path,
                        elements, wanted, input.name, toString(shape));
    return {};
  }

  static Status openKey(Input &input, uint32_t seed) {
    const Tensor &value = input.value;
    if (value.type != U32 || (value.shape != Shape{2} && value.shape != Shape{4}))
      return usageError("the input \"{}\" of {} is no key: {}SEED makes {} or {}", input.name,
                        toString(value.shape, value.type), kStepPrefix, toString(Shape{2}, U32),
                        toString(Shape{4}, U32));
    input.seed = seed;
    return {};
  }

  static void makeKey(Input &input, uint64_t step) {
    const uint32_t pair[] = {*input.seed, static_cast<uint32_t>(step)};
    for (size_t at = 0; at != input.value.bytes.size(); at += sizeof(pair))
      std::memcpy(input.value.bytes.data() + at, pair, sizeof(pair));
  }

  Status loadData(Input &input, uint64_t step) {
    const TensorView &from = input.data->elements;
    uint64_t bytes = input.window * getSize(from.type), outBytes = input.window * getSize(input.value.type);
    if (outBytes == 0)
      return {};
    uint64_t windows = from.size() / input.window;
    for (int64_t row = 0; row != input.rows; ++row) {
      uint64_t window = (step * input.rows + row) % windows;
      TensorView part{from.type, {input.window}, from.bytes.subspan(window * bytes, bytes)};
      MW_TRY(convert(part, input.value.type, std::span(input.value.bytes).subspan(row * outBytes, outBytes))
                 .within(fmt::format("{}: input \"{}\", window {} of the data", input.data->path, input.name, window)));
    }
    return checkRange(input.value.view(), input.min, input.max)
        .within(fmt::format("{}: input \"{}\", step {}", input.data->path, input.name, step));
  }

  Status loadFeed(uint64_t step) {
    std::string path = feed;
    for (size_t at; (at = path.find("{step}")) != std::string::npos;)
      path.replace(at, 6, std::to_string(step));
    MW_TRY_ASSIGN(SafeTensors file, SafeTensors::open(path));
    for (Input &input : inputs) {
      if (input.data || input.seed)
        continue;
      const TensorView *view = file.find(input.name);
      if (!view)
        return inputError("{}: none of the {} tensors is called \"{}\", like the input of {}", path,
                          file.tensors().size(), input.name, toString(input.value.shape, input.value.type));
      std::string where = fmt::format("{}: input \"{}\"", path, input.name);
      MW_TRY(checkShape(*view, input.value.type, input.value.shape, where));
      MW_TRY(convert(*view, input.value.type, input.value.bytes).within(where));
      MW_TRY(checkRange(input.value.view(), input.min, input.max).within(where));
    }
    return {};
  }
};

Feeder::Feeder(std::unique_ptr<Implementation> implementation) : implementation(std::move(implementation)) {}
Feeder::Feeder(Feeder &&) noexcept = default;
Feeder &Feeder::operator=(Feeder &&) noexcept = default;
Feeder::~Feeder() = default;

Result<Feeder> Feeder::create(const LoadedPackage &package, const std::string &feed,
                              const std::vector<DataSource> &data, bool needsAll) {
  auto implementation = std::make_unique<Implementation>();
  const auto &ports = package.message().inputs();
  std::set<std::string> named;
  for (const DataSource &source : data) {
    if (std::none_of(ports.begin(), ports.end(), [&](const Port &port) { return port.name() == source.input; }))
      return usageError("no input of the package is called \"{}\"", source.input);
    if (!named.insert(source.input).second)
      return usageError("data for the input \"{}\" is given twice", source.input);
  }
  bool needsFeed = false;
  for (int i = 0; i != ports.size(); ++i) {
    const Port &port = ports[i];
    Input input;
    input.name = port.name();
    input.index = static_cast<size_t>(i);
    input.value = Tensor(port.dtype(), Shape(port.shape().begin(), port.shape().end()));
    if (port.has_min())
      input.min = port.min();
    if (port.has_max())
      input.max = port.max();
    for (const DataSource &source : data)
      if (source.input == input.name)
        MW_TRY(implementation->openInput(input, source));
    bool hasData = input.data || input.seed;
    if (!hasData && feed.empty() && !needsAll)
      continue;
    if (!hasData && feed.empty())
      return usageError("the input \"{}\" of {} has neither a feed nor data", input.name,
                        toString(input.value.shape, input.value.type));
    needsFeed |= !hasData;
    implementation->inputs.push_back(std::move(input));
  }
  implementation->feed = needsFeed ? feed : "";
  implementation->perStep = feed.find("{step}") != std::string::npos;
  return Feeder(std::move(implementation));
}

Status Feeder::load(uint64_t step) {
  if (!implementation->feed.empty() && (implementation->perStep || !implementation->loaded))
    MW_TRY(implementation->loadFeed(step));
  implementation->loaded = true;
  for (Input &input : implementation->inputs) {
    if (input.seed)
      Implementation::makeKey(input, step);
    if (input.data)
      MW_TRY(implementation->loadData(input, step));
  }
  return {};
}

void Feeder::scatter(Session &session) const {
  for (const Input &input : implementation->inputs)
    session.scatter(session.getInputs(), input.index, input.value.bytes);
}

std::optional<TensorView> Feeder::getValue(const std::string &name) const {
  for (const Input &input : implementation->inputs)
    if (input.name == name)
      return input.value.view();
  return std::nullopt;
}
