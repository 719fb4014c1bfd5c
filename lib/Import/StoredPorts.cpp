//===- StoredPorts.cpp - how an exported module stores values -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An entry of the comment lists the axes of the stored dimensions, and for every dimension of the value its digits.
// Each digit has an axis, in the same order, so both together are a dims mapping. Export's Storage::toJson writes the
// entries.
//
//===----------------------------------------------------------------------===//

#include "StoredPorts.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;
using namespace meshwright::importer;

namespace {

/// Reads one entry of the comment; every function returns false where it is of another form.
class PortReader {
public:
  PortReader(MLIRContext *context, const llvm::json::Object &entry, StoredPort &port)
      : builder(context), entry(entry), port(port) {}

  bool read() {
    SmallVector<SmallVector<StringAttr>> sharding;
    port.count = entry.getInteger("count");
    return readNumbers(entry.getArray("shape"), port.shape) && readSharding(sharding) && readStacked() &&
           (entry.get("digits") ? readDigits(sharding) : takePlain(sharding)) && makeMapping();
  }

private:
  static bool readNumbers(const llvm::json::Array *array, SmallVectorImpl<int64_t> &numbers) {
    return array && llvm::all_of(*array, [&](const llvm::json::Value &value) {
             std::optional<int64_t> number = value.getAsInteger();
             numbers.push_back(number.value_or(-1));
             return number && *number >= 0;
           });
  }

  bool readSharding(SmallVectorImpl<SmallVector<StringAttr>> &sharding) {
    const llvm::json::Array *array = entry.getArray("sharding");
    return array && llvm::all_of(*array, [&](const llvm::json::Value &value) {
             SmallVector<StringAttr> &axes = sharding.emplace_back();
             const llvm::json::Array *names = value.getAsArray();
             return names && llvm::all_of(*names, [&](const llvm::json::Value &name) {
                      std::optional<StringRef> text = name.getAsString();
                      axes.push_back(builder.getStringAttr(text.value_or("")));
                      return text && !text->empty();
                    });
           });
  }

  /// `[["dp", 2, -1], ["pp", 2, 1]]`: an axis with its size, and the coordinate that has the value or, of a part of a
  /// reduction, -1.
  bool readStacked() {
    const llvm::json::Array *array = entry.getArray("stacked");
    if (!array)
      return !entry.get("stacked");
    isStacked = true;
    std::optional<ReduceKind> reduction = symbolizeReduceKind(entry.getString("reduction").value_or(""));
    kind = reduction.value_or(ReduceKind::Sum);
    return reduction && llvm::all_of(*array, [&](const llvm::json::Value &value) {
             const llvm::json::Array *triple = value.getAsArray();
             if (!triple || triple->size() != 3)
               return false;
             std::optional<StringRef> axis = (*triple)[0].getAsString();
             std::optional<int64_t> holder = (*triple)[2].getAsInteger();
             if (!axis || axis->empty() || !holder)
               return false;
             if (*holder < 0)
               partial.push_back(builder.getStringAttr(*axis));
             else
               support.set(*axis, builder.getDenseI64ArrayAttr(*holder));
             return true;
           });
  }

  bool takePlain(ArrayRef<SmallVector<StringAttr>> sharding) {
    if (sharding.size() != port.shape.size())
      return false;
    for (ArrayRef<StringAttr> axes : sharding)
      addDim(llvm::map_to_vector(axes, [](StringAttr axis) { return DigitAttr::getAxis(axis); }));
    return true;
  }

  /// `[[3, 32, 2, 16]]` for a dimension: in each of 3 times 32 positions, 2 parts of 16. The axes of the digits are
  /// those of the stored dimensions, in their order.
  bool readDigits(ArrayRef<SmallVector<StringAttr>> sharding) {
    const llvm::json::Array *array = entry.getArray("digits");
    if (!array || array->size() != port.shape.size())
      return false;
    SmallVector<StringAttr> axes;
    for (ArrayRef<StringAttr> dim : sharding.drop_front(isStacked && !sharding.empty() ? 1 : 0))
      llvm::append_range(axes, dim);
    size_t next = 0;
    for (const llvm::json::Value &value : *array) {
      const llvm::json::Array *levels = value.getAsArray();
      SmallVector<DigitAttr> digits;
      if (!levels || !llvm::all_of(*levels, [&](const llvm::json::Value &level) {
            SmallVector<int64_t> numbers;
            if (!readNumbers(level.getAsArray(), numbers) || numbers.size() != 4 || next == axes.size())
              return false;
            auto [outer, extent, count, part] = std::tuple(numbers[0], numbers[1], numbers[2], numbers[3]);
            if (outer <= 0 || count <= 0 || part <= 0)
              return false;
            if (outer != 1)
              digits.push_back(DigitAttr::getPlain(builder.getContext(), outer));
            bool isEven = part == std::max<int64_t>(llvm::divideCeil(extent, count), 1);
            digits.push_back(DigitAttr::getAxis(axes[next++], isEven ? std::nullopt : std::optional(part)));
            return true;
          }))
        return false;
      addDim(digits);
    }
    return next == axes.size();
  }

  void addDim(ArrayRef<DigitAttr> digits) { dims.push_back(DigitsAttr::get(builder.getContext(), digits)); }

  bool makeMapping() {
    auto silent = [] { return InFlightDiagnostic(); };
    ArrayAttr partialAxes = builder.getArrayAttr(partial);
    DictionaryAttr holders = support.getDictionary(builder.getContext());
    if (failed(MappingAttr::verify(silent, dims, kind, partialAxes, holders)))
      return false;
    port.mapping = MappingAttr::get(builder.getContext(), dims, kind, partialAxes, holders);
    return true;
  }

  Builder builder;
  const llvm::json::Object &entry;
  StoredPort &port;
  SmallVector<DigitsAttr> dims;
  bool isStacked = false;
  ReduceKind kind = ReduceKind::Sum;
  SmallVector<Attribute> partial;
  NamedAttrList support;
};

} // namespace

FailureOr<StoredPorts> importer::parseStoredPorts(StringRef header, Location location) {
  llvm::Expected<llvm::json::Value> parsed = llvm::json::parse(header);
  if (!parsed)
    return emitError(location) << "the comment with arguments and results is no JSON: "
                               << llvm::toString(parsed.takeError());
  StoredPorts ports;
  const llvm::json::Object *object = parsed->getAsObject();
  for (auto [list, key] : {std::pair(&ports.arguments, "arguments"), std::pair(&ports.results, "results")}) {
    const llvm::json::Array *entries = object ? object->getArray(key) : nullptr;
    if (!entries)
      return emitError(location) << "the comment at the beginning has no list of " << key;
    for (auto [index, value] : llvm::enumerate(*entries)) {
      const llvm::json::Object *entry = value.getAsObject();
      if (!entry || !PortReader(location.getContext(), *entry, list->emplace_back()).read())
        return emitError(location) << "the comment at the beginning does not say how the array of number " << index
                                   << " among " << key << " stores its value";
    }
  }
  return std::move(ports);
}
