//===- Sharding.cpp - shardings that exporters write ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The text of HLO lays devices out in a grid with a dimension for each of the value's, and further ones after these on
// which the value is replicated. `[2,2]<=[4]` counts the devices row by row; `[2,2]<=[2,2]T(1,0)` counts them in a grid
// of the second shape, transposes that and takes it row by row; and `[2,2]0,1,2,3` lists them. Shardy's text names the
// axes of every dimension.
//
//===----------------------------------------------------------------------===//

#include "meshwright/StableHLO/Sharding.h"
#include "RankArithmetic.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;
using namespace meshwright::importer;

using Numbers = SmallVector<int64_t>;

/// Takes `1,2,3` from the front of `text`; the list ends at anything else.
static std::optional<Numbers> takeNumbers(StringRef &text) {
  Numbers numbers;
  do {
    if (text.consumeInteger(10, numbers.emplace_back()) || numbers.back() < 0)
      return std::nullopt;
  } while (text.consume_front(","));
  return numbers;
}

/// Takes a list between two words.
static std::optional<Numbers> takeList(StringRef &text, StringRef open, StringRef close) {
  if (!text.consume_front(open))
    return std::nullopt;
  std::optional<Numbers> numbers = takeNumbers(text);
  return numbers && text.consume_front(close) ? numbers : std::nullopt;
}

/// True if all sizes are positive and their product is `expected`.
static bool hasProduct(ArrayRef<int64_t> sizes, int64_t expected) {
  int64_t product = 1;
  for (int64_t size : sizes)
    if (size <= 0 || llvm::MulOverflow(product, size, product))
      return false;
  return product == expected;
}

/// The devices of the grid, row by row; nothing if the text is none of the known forms or does not have `ranks`
/// devices.
static std::optional<Numbers> takeDevices(StringRef &text, int64_t ranks) {
  if (!text.consume_front("<=")) {
    std::optional<Numbers> listed = takeNumbers(text);
    return listed && static_cast<int64_t>(listed->size()) == ranks ? listed : std::nullopt;
  }
  std::optional<Numbers> shape = takeList(text, "[", "]");
  if (!shape || !hasProduct(*shape, ranks))
    return std::nullopt;
  Numbers order = llvm::to_vector(llvm::seq<int64_t>(0, static_cast<int64_t>(shape->size())));
  if (text.starts_with("T(")) {
    std::optional<Numbers> transposed = takeList(text, "T(", ")");
    if (!transposed || !std::is_permutation(order.begin(), order.end(), transposed->begin(), transposed->end()))
      return std::nullopt;
    order = *transposed;
  }
  Numbers strides(shape->size(), 1), devices;
  for (size_t dim = shape->size(); dim-- > 1;)
    strides[dim - 1] = strides[dim] * (*shape)[dim];
  for (int64_t position = 0; position < ranks; ++position) {
    int64_t rest = position, device = 0;
    for (int64_t dim : llvm::reverse(order)) {
      device += rest % (*shape)[dim] * strides[dim];
      rest /= (*shape)[dim];
    }
    devices.push_back(device);
  }
  return devices;
}

FailureOr<SmallVector<Axes>> importer::readHloSharding(StringRef text, unsigned rank, const Mesh &mesh,
                                                       llvm::function_ref<InFlightDiagnostic()> emitError) {
  StringRef rest = text;
  if (!rest.consume_front("{") || !rest.consume_back("}"))
    return emitError() << "sharding \"" << text << "\" is not of the form {devices=[2,1]<=[2]}";
  if (rest == "replicated")
    return SmallVector<Axes>(rank);
  int64_t ranks = mesh.getNumRanks();
  std::optional<Numbers> grid = takeList(rest, "devices=[", "]");
  std::optional<Numbers> devices = grid ? takeDevices(rest, ranks) : std::nullopt;
  if (!devices || grid->size() < rank || !hasProduct(*grid, ranks))
    return emitError() << "sharding \"" << text << "\" is no grid of the " << ranks << " ranks of the mesh "
                       << printMesh(mesh) << " for a value of " << rank << " dimensions";
  SmallVector<Axes> dims;
  int64_t stride = ranks;
  for (int64_t size : ArrayRef(*grid).take_front(rank)) {
    stride /= size;
    Numbers places(ranks, -1);
    for (auto [position, device] : llvm::enumerate(*devices))
      if (device < ranks)
        places[device] = static_cast<int64_t>(position) / stride % size;
    std::optional<Axes> axes = llvm::is_contained(places, -1) ? std::nullopt : findDigits(mesh, places);
    if (!axes)
      return emitError() << "sharding \"" << text << "\" does not split dimension " << dims.size()
                         << " along axes of the mesh " << printMesh(mesh);
    dims.push_back(*axes);
  }
  return dims;
}

/// `sharding<@mesh, [{"dp", "tp"}, {}]>`
static FailureOr<SmallVector<Axes>> readShardySharding(StringRef text, unsigned rank, const Mesh &mesh,
                                                       llvm::function_ref<InFlightDiagnostic()> emitError) {
  SmallVector<Axes> dims;
  for (StringRef rest = text.split('[').second; !rest.empty() && rest.front() != ']'; rest = rest.drop_front()) {
    if (rest.front() == '{')
      dims.emplace_back();
    if (rest.front() != '"')
      continue;
    StringRef name = rest.drop_front().take_until([](char c) { return c == '"'; });
    rest = rest.drop_front(name.size() + 1);
    std::optional<Axis> axis = mesh.find(name);
    if (!axis || dims.empty() || rest.starts_with("\":"))
      return emitError() << "sharding \"" << text << "\" does not split along axes of the mesh " << printMesh(mesh);
    dims.back().push_back(*axis);
  }
  if (dims.size() != rank)
    return emitError() << "sharding \"" << text << "\" is of " << dims.size() << " dimensions, not of " << rank;
  return dims;
}

FailureOr<std::optional<SmallVector<Axes>>> importer::readSharding(DictionaryAttr attributes, unsigned rank,
                                                                   const Mesh &mesh,
                                                                   llvm::function_ref<InFlightDiagnostic()> emitError) {
  auto get = [&](StringRef name) { return attributes ? attributes.getAs<StringAttr>(name) : StringAttr(); };
  StringAttr hlo = get("mhlo.sharding"), shardy = get("sdy.sharding");
  if (!hlo && !shardy)
    return std::optional<SmallVector<Axes>>();
  FailureOr<SmallVector<Axes>> read = hlo ? readHloSharding(hlo.getValue(), rank, mesh, emitError)
                                          : readShardySharding(shardy.getValue(), rank, mesh, emitError);
  if (failed(read))
    return failure();
  return std::optional(*read);
}
