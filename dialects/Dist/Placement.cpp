//===- Placement.cpp - resolving mappings; local shapes and indices -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Resolving reads the digits of a dimension from major to minor and tracks the extent that is left: a plain digit n
// divides it by n, an axis digit of part p reduces it to p. Writing the attribute back inverts this: a gap between the
// extent that is left and the next digit's extent becomes a plain digit.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Placement.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace meshwright::dist;

using llvm::divideCeil;

Placement Placement::replicated(unsigned rank) {
  Placement placement;
  placement.dims.resize(rank);
  return placement;
}

//===----------------------------------------------------------------------===//
// Attribute to placement and back
//===----------------------------------------------------------------------===//

namespace {

/// Resolves the digits of one dimension.
class DimResolver {
public:
  DimResolver(const Mesh &mesh, unsigned dim, int64_t size, llvm::function_ref<InFlightDiagnostic()> emitError)
      : mesh(mesh), dim(dim), size(size), extent(size), emitError(emitError) {}

  LogicalResult addPlain(int64_t count) {
    if (extent % count != 0)
      return emitError() << "digit " << count << " does not divide the " << extent
                         << " indices that are left of dimension " << dim << " of size " << size;
    extent /= count;
    return success();
  }

  LogicalResult addAxis(StringRef name, std::optional<int64_t> by, SmallVectorImpl<Split> &splits) {
    std::optional<Axis> axis = mesh.find(name);
    if (!axis)
      return emitError() << "the mesh has no axis \"" << name << "\"";
    int64_t n = mesh.getSize(*axis);
    int64_t stride = by.value_or(std::max<int64_t>(divideCeil(extent, n), 1));
    if (stride > std::max<int64_t>(extent, 1) || stride * n < extent)
      return emitError() << n << " parts of " << stride << " indices over axis \"" << name << "\" do not fit the "
                         << extent << " indices that are left of dimension " << dim << " of size " << size;
    splits.push_back({*axis, extent, stride});
    extent = stride;
    return success();
  }

private:
  const Mesh &mesh;
  unsigned dim;
  int64_t size, extent;
  llvm::function_ref<InFlightDiagnostic()> emitError;
};

} // namespace

FailureOr<Placement> Placement::resolve(MappingAttr mapping, const Mesh &mesh, ArrayRef<int64_t> shape,
                                        llvm::function_ref<InFlightDiagnostic()> emitError) {
  if (mapping.getRank() != shape.size())
    return emitError() << "the dims mapping has " << mapping.getRank() << " dimensions but the value has "
                       << shape.size();
  Placement placement = replicated(shape.size());
  for (auto [dim, digits] : llvm::enumerate(mapping.getDims())) {
    DimResolver resolver(mesh, dim, shape[dim], emitError);
    for (DigitAttr digit : digits)
      if (failed(digit.isPlain() ? resolver.addPlain(*digit.getSize())
                                 : resolver.addAxis(digit.getAxis(), digit.getSize(), placement.dims[dim])))
        return failure();
  }
  auto findAxis = [&](StringRef name) -> FailureOr<Axis> {
    if (std::optional<Axis> axis = mesh.find(name))
      return *axis;
    return emitError() << "the mesh has no axis \"" << name << "\"";
  };
  placement.partialKind = mapping.getPartialKind();
  for (Attribute name : mapping.getPartialAxes()) {
    FailureOr<Axis> axis = findAxis(cast<StringAttr>(name));
    if (failed(axis))
      return failure();
    placement.partialAxes.push_back(*axis);
  }
  llvm::sort(placement.partialAxes);
  for (NamedAttribute entry : mapping.getSupport()) {
    FailureOr<Axis> axis = findAxis(entry.getName());
    if (failed(axis))
      return failure();
    auto coordinates = cast<DenseI64ArrayAttr>(entry.getValue()).asArrayRef();
    for (int64_t coordinate : coordinates)
      if (coordinate < 0 || coordinate >= mesh.getSize(*axis))
        return emitError() << "axis \"" << entry.getName().getValue() << "\" of size " << mesh.getSize(*axis)
                           << " has no coordinate " << coordinate;
    placement.support.push_back({*axis, llvm::to_vector(coordinates)});
  }
  llvm::sort(placement.support, [](const auto &a, const auto &b) { return a.first < b.first; });
  return placement;
}

MappingAttr Placement::toAttr(MLIRContext *context, const Mesh &mesh, ArrayRef<int64_t> shape) const {
  Builder builder(context);
  SmallVector<DigitsAttr> dimAttrs;
  for (auto [dim, splits] : llvm::enumerate(dims)) {
    SmallVector<DigitAttr> digits;
    int64_t extent = shape[dim];
    for (const Split &split : splits) {
      if (split.extent != extent)
        digits.push_back(DigitAttr::getPlain(context, extent / split.extent));
      bool isEven = split.stride == std::max<int64_t>(divideCeil(split.extent, mesh.getSize(split.axis)), 1);
      digits.push_back(DigitAttr::getAxis(builder.getStringAttr(mesh.getName(split.axis)),
                                          isEven ? std::nullopt : std::optional(split.stride)));
      extent = split.stride;
    }
    dimAttrs.push_back(DigitsAttr::get(context, digits));
  }
  SmallVector<Attribute> partial;
  for (Axis axis : partialAxes)
    partial.push_back(builder.getStringAttr(mesh.getName(axis)));
  SmallVector<NamedAttribute> holders;
  for (const auto &[axis, coordinates] : support)
    holders.push_back(builder.getNamedAttr(mesh.getName(axis), builder.getDenseI64ArrayAttr(coordinates)));
  return MappingAttr::get(context, dimAttrs, partial.empty() ? ReduceKind::Sum : partialKind,
                          builder.getArrayAttr(partial), builder.getDictionaryAttr(holders));
}

//===----------------------------------------------------------------------===//
// Queries and updates
//===----------------------------------------------------------------------===//

std::optional<std::pair<unsigned, Split>> Placement::findSplit(Axis axis) const {
  for (auto [dim, splits] : llvm::enumerate(dims))
    for (const Split &split : splits)
      if (split.axis == axis)
        return std::make_pair(static_cast<unsigned>(dim), split);
  return std::nullopt;
}

bool Placement::isReplicated() const {
  return partialAxes.empty() && support.empty() &&
         llvm::all_of(dims, [](const auto &splits) { return splits.empty(); });
}

std::optional<int64_t> Placement::getHolder(Axis axis) const {
  for (const auto &[supported, coordinates] : support)
    if (supported == axis && coordinates.size() == 1)
      return coordinates.front();
  return std::nullopt;
}

void Placement::setHolder(Axis axis, int64_t holder) {
  erase(axis);
  auto *position = llvm::find_if(support, [&](const auto &entry) { return entry.first > axis; });
  support.insert(position, {axis, {holder}});
}

bool Placement::holds(ArrayRef<int64_t> coordinates) const {
  return llvm::all_of(support,
                      [&](const auto &entry) { return llvm::is_contained(entry.second, coordinates[entry.first]); });
}

bool Placement::insert(unsigned dim, Split split) {
  auto &splits = dims[dim];
  auto *position = splits.begin();
  while (position != splits.end() && position->stride >= split.extent)
    ++position;
  // Only adjacent digits have to nest: the stride of a digit further out may be no multiple of this one's extent if
  // the digit does not divide.
  if (position != splits.begin() && std::prev(position)->stride % split.extent != 0)
    return false;
  if (position != splits.end() && (position->extent > split.stride || split.stride % position->extent != 0))
    return false;
  splits.insert(position, split);
  return true;
}

void Placement::erase(Axis axis) {
  for (auto &splits : dims)
    llvm::erase_if(splits, [&](const Split &split) { return split.axis == axis; });
  llvm::erase(partialAxes, axis);
  llvm::erase_if(support, [&](const auto &entry) { return entry.first == axis; });
}

//===----------------------------------------------------------------------===//
// Local shapes and indices
//===----------------------------------------------------------------------===//

SmallVector<LocalDigit> meshwright::dist::getLocalDigits(ArrayRef<Split> splits, int64_t size) {
  SmallVector<LocalDigit> digits;
  int64_t extent = size;
  for (const Split &split : splits) {
    if (split.extent != extent)
      digits.push_back({std::nullopt, extent / split.extent, split.extent});
    digits.push_back({split.axis, 1, split.stride});
    extent = split.stride;
  }
  digits.push_back({std::nullopt, extent, 1});
  return digits;
}

SmallVector<int64_t> Placement::getLocalShape(ArrayRef<int64_t> shape) const {
  SmallVector<int64_t> local;
  for (auto [dim, size] : llvm::enumerate(shape)) {
    int64_t product = 1;
    for (const LocalDigit &digit : getLocalDigits(dims[dim], size))
      product *= digit.localSize;
    local.push_back(product);
  }
  return local;
}

bool Placement::isUneven(unsigned dim, const Mesh &mesh) const {
  return llvm::any_of(dims[dim],
                      [&](const Split &split) { return split.extent != split.stride * mesh.getSize(split.axis); });
}

std::optional<int64_t> Placement::getGlobalIndex(unsigned dim, int64_t size, int64_t local,
                                                 ArrayRef<int64_t> coordinates) const {
  // From the least significant digit up; `within` is the index inside the span of the digits seen so far.
  int64_t within = 0;
  ArrayRef<Split> splits = dims[dim];
  SmallVector<LocalDigit> digits = getLocalDigits(splits, size);
  size_t split = splits.size();
  for (const LocalDigit &digit : llvm::reverse(digits)) {
    if (digit.axis) {
      within += coordinates[*digit.axis] * digit.globalStride;
      if (within >= splits[--split].extent)
        return std::nullopt;
      continue;
    }
    within += local % digit.localSize * digit.globalStride;
    local /= digit.localSize;
  }
  return within;
}
