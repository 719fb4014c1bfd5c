//===- Plan.cpp - what people look at before they run ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Plan.h"
#include "dialects/Dist/Interfaces.h"
#include "dialects/Dist/Placement.h"
#include "dialects/Net/Net.h"
#include "meshwright/Schedule/Passes.h"
#include "meshwright/Schedule/Report.h"
#include "meshwright/Support/Locations.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;

//===----------------------------------------------------------------------===//
// Reading the program
//===----------------------------------------------------------------------===//

/// The floating-point operations of one step at the shapes that the program has now.
static int64_t countFlops(ModuleOp module) {
  int64_t flops = 0;
  module.walk([&](Operation *op) {
    if (auto costed = dyn_cast<CostOpInterface>(op))
      flops += costed.getFlops();
  });
  return flops;
}

/// How many of the values that live at the peak are named.
static constexpr size_t kShownLive = 20;

static std::string toText(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

static std::string toText(Attribute attribute) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  attribute.print(stream, /*elideType=*/true);
  return text;
}

static int64_t getBytes(RankedTensorType type) {
  return type.getNumElements() * llvm::divideCeil(type.getElementTypeBitWidth(), 8);
}

/// The user's name of a value, or the scope of what made it.
static std::string describeValue(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op) {
    auto argument = cast<BlockArgument>(value);
    auto func = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
    auto name = func ? func.getArgAttrOfType<StringAttr>(argument.getArgNumber(), net::kNameAttr) : StringAttr();
    return name ? name.str() : "argument " + std::to_string(argument.getArgNumber());
  }
  if (auto name = op->getAttrOfType<StringAttr>(net::kNameAttr))
    return name.str();
  if (auto conversion = dyn_cast<ConversionOpInterface>(op))
    return describeValue(conversion.getInput());
  auto scope = op->getAttrOfType<StringAttr>(net::kScopeAttr);
  return (scope ? scope.str() + "/" : std::string()) + op->getName().stripDialect().str();
}

static std::string describeRole(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (auto role = op->getAttrOfType<net::RoleAttr>(net::kRoleAttr))
      return net::stringifyRole(role.getValue()).str();
    auto conversion = dyn_cast<ConversionOpInterface>(op);
    if (!conversion)
      break;
    value = conversion.getInput();
  }
  return "";
}

/// Bytes that a member of a group of `n` sends, the mean over the group; `full` is the size of the whole value, `local`
/// that of a part.
static double getRingBytes(StringRef kind, double full, double local, int64_t n) {
  double share = static_cast<double>(n - 1) / n;
  if (kind == "c_allreduce")
    return 2 * full * share;
  return (kind == "c_alltoall" ? local : full) * share;
}

static PlannedConversion describeConversion(ConversionOpInterface op, const Mesh &mesh) {
  PlannedConversion planned;
  planned.kind = op->getName().stripDialect().str();
  for (StringRef axis : op.getAxes().getAsValueRange<StringAttr>()) {
    planned.axes.push_back(axis.str());
    planned.group *= mesh.getSize(*mesh.find(axis));
  }
  auto from = cast<RankedTensorType>(op.getInput().getType());
  auto to = cast<RankedTensorType>(op->getResult(0).getType());
  auto larger = from.getNumElements() >= to.getNumElements() ? from : to;
  planned.dtype = toText(from.getElementType());
  planned.elements = larger.getNumElements();
  planned.bytes = getRingBytes(planned.kind, getBytes(larger), getBytes(from), planned.group);
  planned.value = describeValue(op.getInput());
  planned.location = describeLocation(op->getLoc());
  planned.role = describeRole(op.getInput());
  planned.reason = toText(op.getFrom()) + " -> " + toText(op.getTo());
  return planned;
}

static PlannedVariable describeVariable(net::VariableOp op, const Mesh &mesh) {
  PlannedVariable planned;
  auto global = op->getAttrOfType<TypeAttr>("dist.global_type");
  auto type = global ? cast<RankedTensorType>(global.getValue()) : op.getTensorType();
  auto mapping = op->getAttrOfType<MappingAttr>(kMappingAttr);
  planned.name = op.getSymName().str();
  planned.kind = net::stringifyVariableKind(op.getKind()).str();
  planned.dtype = toText(type.getElementType());
  planned.shape.assign(type.getShape().begin(), type.getShape().end());
  planned.placement = mapping ? toText(mapping) : "replicated";
  planned.bytesPerRank = getBytes(op.getTensorType());
  if (!mapping)
    return planned;
  auto placement = Placement::resolve(mapping, mesh, type.getShape(), [&] { return op.emitError(); });
  int64_t parts = 1;
  if (succeeded(placement))
    for (const auto &splits : placement->dims)
      for (const Split &split : splits)
        parts *= mesh.getSize(split.axis);
  planned.paddingBytes = planned.bytesPerRank - getBytes(type) / parts;
  return planned;
}

void Plan::addSerial(ModuleOp module) { serialFlops = countFlops(module); }

void Plan::addProgram(ModuleOp module) {
  if (MeshOp op = findMesh(module))
    mesh = op.getMesh();
  rankFlops = countFlops(module);
  for (auto variable : module.getOps<net::VariableOp>())
    variables.push_back(describeVariable(variable, mesh));
  module.walk([&](ConversionOpInterface op) {
    if (op.isCollective())
      conversions.push_back(describeConversion(op, mesh));
  });
}

void Plan::addMemory(ModuleOp module) {
  for (auto func : module.getOps<func::FuncOp>()) {
    auto arena = func->getAttrOfType<IntegerAttr>(schedule::kArenaBytesAttr);
    auto persistent = func->getAttrOfType<IntegerAttr>(schedule::kPersistentBytesAttr);
    if (!arena || !persistent)
      continue;
    peakBytes = arena.getInt();
    persistentBytes = persistent.getInt();
    schedule::Report report = schedule::describe(func);
    numKernels = report.numKernels;
    numProducts = report.numProducts;
    trafficBytes = report.trafficBytes;
    liveBytes = report.liveBytes;
    for (auto [value, bytes] : ArrayRef(report.liveAtPeak).take_front(kShownLive))
      liveAtPeak.push_back({describeValue(value), bytes});
  }
}

std::map<std::string, Plan::Total> Plan::getTotals() const {
  std::map<std::string, Total> totals;
  for (const PlannedConversion &conversion : conversions) {
    Total &total = totals[conversion.kind];
    ++total.count;
    total.bytes += conversion.bytes;
  }
  return totals;
}

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

void Plan::printMemory(llvm::json::OStream &json) const {
  json.attribute("kernels", numKernels);
  json.attributeArray("live_at_peak", [&] {
    for (const PlannedValue &value : liveAtPeak)
      json.object([&] {
        json.attribute("bytes", value.bytes);
        json.attribute("value", value.name);
      });
  });
  json.attribute("live_bytes", liveBytes);
  json.attribute("peak_bytes", *peakBytes);
  json.attribute("persistent_bytes", *persistentBytes);
  json.attribute("products", numProducts);
}

void Plan::printJson(llvm::raw_ostream &out) const {
  llvm::json::OStream json(out, 2);
  json.object([&] {
    json.attributeArray("mesh", [&] {
      for (Axis axis = 0; axis < mesh.getNumAxes(); ++axis)
        json.object([&] {
          json.attribute("name", mesh.getName(axis));
          json.attribute("size", mesh.getSize(axis));
        });
    });
    json.attributeArray("programs", [&] {
      json.object([&] {
        json.attributeArray("conversions", [&] {
          for (const PlannedConversion &conversion : conversions)
            json.object([&] {
              json.attribute("axes", llvm::json::Array(conversion.axes));
              json.attribute("bytes", conversion.bytes);
              json.attribute("dtype", conversion.dtype);
              json.attribute("elements", conversion.elements);
              json.attribute("group", conversion.group);
              json.attribute("kind", conversion.kind);
              json.attribute("location", conversion.location);
              json.attribute("reason", conversion.reason);
              json.attribute("role", conversion.role);
              json.attribute("task", "step");
              json.attribute("value", conversion.value);
            });
        });
        if (!segments.empty())
          printSegments(json);
        json.attribute("flops", rankFlops);
        if (peakBytes)
          printMemory(json);
        json.attribute("ranks", mesh.getNumRanks());
        if (!segments.empty())
          json.attributeArray("segments", [&] {
            for (const PlannedSegment &segment : segments)
              json.object([&] {
                json.attribute("first", segment.first);
                json.attribute("last", segment.last);
                json.attribute("live_bytes", segment.liveBytes);
                json.attribute("role", segment.role);
                json.attribute("volume", segment.volume);
              });
          });
        if (peakBytes)
          json.attribute("traffic_bytes", trafficBytes);
      });
    });
    json.attribute("serial_flops", serialFlops);
    json.attributeObject("totals", [&] {
      double bytes = 0;
      int64_t count = 0;
      json.attributeObject("by_kind", [&] {
        for (const auto &[kind, total] : getTotals())
          json.attributeObject(kind, [&, kind = kind, total = total] {
            json.attribute("bytes", total.bytes);
            json.attribute("count", total.count);
            bytes += total.bytes;
            count += total.count;
          });
      });
      json.attribute("bytes", bytes);
      json.attribute("conversions", count);
    });
    json.attributeArray("variables", [&] {
      for (const PlannedVariable &variable : variables)
        json.object([&] {
          json.attribute("bytes_per_rank", variable.bytesPerRank);
          json.attribute("dtype", variable.dtype);
          json.attribute("kind", variable.kind);
          json.attribute("name", variable.name);
          json.attribute("padding_bytes", variable.paddingBytes);
          json.attribute("placement", variable.placement);
          json.attribute("shape", llvm::json::Array(variable.shape));
        });
    });
  });
  out << "\n";
}

void Plan::printText(llvm::raw_ostream &out) const {
  out << "mesh:";
  for (Axis axis = 0; axis < mesh.getNumAxes(); ++axis)
    out << " " << mesh.getName(axis) << "=" << mesh.getSize(axis);
  out << ", " << mesh.getNumRanks() << " ranks, one program\n\n";
  int64_t state = 0;
  for (const PlannedVariable &variable : variables)
    state += variable.bytesPerRank;
  out << llvm::format("variables: %zu, %.1f MB per rank\n", variables.size(), state / 1e6);
  out << llvm::format("operations: %.3f GFLOP per rank, %.3f serial\n", rankFlops / 1e9, serialFlops / 1e9);
  if (peakBytes) {
    out << llvm::format("arena: %.1f MB per rank, %.1f of it persistent; %.1f live at the busiest moment:\n",
                        *peakBytes / 1e6, *persistentBytes / 1e6, liveBytes / 1e6);
    for (const PlannedValue &value : ArrayRef(liveAtPeak).take_front(5))
      out << llvm::format("    %10.3f MB  ", value.bytes / 1e6) << value.name << "\n";
    out << numKernels << " kernels and " << numProducts
        << llvm::format(" products read and write %.1f MB\n", trafficBytes / 1e6);
  }
  double bytes = 0;
  for (const auto &[kind, total] : getTotals()) {
    out << llvm::format("%-16s %5lld  %10.3f MB\n", kind.c_str(), static_cast<long long>(total.count),
                        total.bytes / 1e6);
    bytes += total.bytes;
  }
  out << llvm::format("%-16s %5zu  %10.3f MB sent per rank and step\n\n", "total", conversions.size(), bytes / 1e6);
  printSegments(out);
  for (const PlannedConversion &conversion : conversions) {
    out << conversion.kind << " over " << llvm::join(conversion.axes, ", ")
        << llvm::format(", %lld x ", static_cast<long long>(conversion.elements)) << conversion.dtype
        << llvm::format(", %.3f MB: ", conversion.bytes / 1e6) << conversion.value;
    if (!conversion.role.empty())
      out << " (" << conversion.role << ")";
    out << " " << conversion.location << "\n    " << conversion.reason << "\n";
  }
}
