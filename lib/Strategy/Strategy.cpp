//===- Strategy.cpp - parses and checks the strategy file -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parses the strategy with protobuf's text format, which also records the place of every field, so that all later
// errors are located at a line. Checks here and in the files Check*.cpp need no graph; checks against the graph are in
// Annotate and Pipeline.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Strategy/Strategy.h"
#include "Aliases.h"
#include "Numbers.h"
#include "google/protobuf/io/tokenizer.h"
#include "meshwright/runtime/MostRanks.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include <charconv>

using namespace mlir;
using namespace meshwright;
using namespace meshwright::strategy;
using google::protobuf::FieldDescriptor;

static constexpr int64_t kMostRanks = runtime::mostRanks;

namespace {

/// Emits protobuf's errors at their places.
class Errors : public google::protobuf::io::ErrorCollector {
public:
  Errors(StringRef name, const ResolvedText &text, MLIRContext *context) : name(name), text(text), context(context) {}
  void AddError(int line, google::protobuf::io::ColumnNumber column, const std::string &message) override {
    line = std::max(line, 0);
    column = text.getColumn(line, std::max(column, 0));
    emitError(FileLineColLoc::get(context, name, line + 1, column + 1)) << message;
  }

private:
  StringRef name;
  const ResolvedText &text;
  MLIRContext *context;
};

} // namespace

FailureOr<StrategyFile> StrategyFile::parse(StringRef text, StringRef name, MLIRContext *context) {
  StrategyFile file;
  file.name = name.str();
  file.places = std::make_shared<google::protobuf::TextFormat::ParseInfoTree>();
  file.text = std::make_shared<const ResolvedText>(text);
  Errors errors(file.name, *file.text, context);
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&errors);
  parser.WriteLocationsTo(file.places.get());
  // More levels than the schema has; text with more must not overflow the stack.
  parser.SetRecursionLimit(32);
  // Missing fields are reported below, because protobuf does not know their place.
  parser.AllowPartialMessage(true);
  if (!parser.ParseFromString(file.text->get(), &file.strategy))
    return failure();
  std::vector<std::string> missing;
  file.strategy.FindInitializationErrors(&missing);
  for (const std::string &field : missing)
    emitError(file.getLoc(context, field)) << "required field " << field << " is missing";
  if (!missing.empty())
    return failure();
  return file;
}

FailureOr<StrategyFile> StrategyFile::read(StringRef strategy, MLIRContext *context) {
  if (llvm::sys::fs::is_regular_file(strategy))
    if (auto buffer = llvm::MemoryBuffer::getFile(strategy))
      return parse((*buffer)->getBuffer(), strategy, context);
  return parse(strategy, "<strategy>", context);
}

Location StrategyFile::getLoc(MLIRContext *context, StringRef path) const {
  const auto *tree = places.get();
  const auto *descriptor = Strategy::descriptor();
  int line = 0, column = 0;
  // Follows the path in the tree of places, as far as the text has the fields.
  while (tree && descriptor && !path.empty()) {
    auto [step, rest] = path.split('.');
    auto [field, index] = step.split('[');
    int number = 0;
    bool repeated = !index.consumeInteger(10, number);
    const auto *entry = descriptor->FindFieldByName(field.str());
    if (!entry)
      break;
    auto place = tree->GetLocation(entry, repeated ? number : entry->is_repeated() ? 0 : -1);
    if (place.line < 0)
      break;
    line = place.line;
    column = place.column;
    descriptor = entry->message_type();
    tree = descriptor ? tree->GetTreeForNested(entry, repeated ? number : entry->is_repeated() ? 0 : -1) : nullptr;
    path = rest;
  }
  return FileLineColLoc::get(context, name, line + 1, (text ? text->getColumn(line, column) : column) + 1);
}

//===----------------------------------------------------------------------===//
// Checks without the graph
//===----------------------------------------------------------------------===//

LogicalResult StrategyFile::resolveSizes(int64_t ranks, MLIRContext *context) {
  llvm::StringSet<> seen;
  std::optional<int> open;
  int64_t product = 1;
  auto &axes = *strategy.mutable_mesh()->mutable_axes();
  for (int index = 0; index < axes.size(); ++index) {
    const strategy::Axis &axis = axes[index];
    Location loc = getLoc(context, "mesh.axes[" + std::to_string(index) + "]");
    if (axis.name().empty() || !seen.insert(axis.name()).second)
      return emitError(loc) << "axis \"" << axis.name() << "\" is empty or given twice in the mesh";
    // A division, because the product may overflow.
    if (axis.size() < 0 || (axis.size() > 0 && product > kMostRanks / axis.size()))
      return emitError(loc) << "axis \"" << axis.name() << "\" has size " << axis.size()
                            << "; sizes are positive and the number of ranks is at most " << kMostRanks;
    if (axis.size() > 0) {
      product *= axis.size();
      continue;
    }
    if (open)
      return emitError(loc) << "axis \"" << axis.name() << "\" has size 0 and so has axis \"" << axes[*open].name()
                            << "\"; at most one axis can take its size from --ranks";
    open = index;
  }
  Location loc = getLoc(context, "mesh");
  if (ranks < 0 || ranks > kMostRanks)
    return emitError(loc) << "there are " << ranks << " ranks; there is at least 1 and there are at most "
                          << kMostRanks;
  if (!open) {
    if (ranks != 0 && ranks != product)
      return emitError(loc) << "the sizes of the mesh's axes multiply to " << product << " but --ranks is " << ranks;
    return success();
  }
  if (ranks == 0)
    return emitError(loc) << "axis \"" << axes[*open].name() << "\" has size 0; set it with --ranks";
  if (ranks % product != 0)
    return emitError(loc) << ranks << " ranks cannot be divided by the " << product << " of the axes other than \""
                          << axes[*open].name() << "\"";
  axes[*open].set_size(ranks / product);
  return success();
}

LogicalResult StrategyFile::checkAxes(MLIRContext *context) const {
  dist::Mesh mesh = getMesh();
  llvm::StringSet<> seen;
  for (int index = 0; index < strategy.data().axes_size(); ++index) {
    const std::string &axis = strategy.data().axes(index);
    Location loc = getLoc(context, "data.axes[" + std::to_string(index) + "]");
    if (!mesh.find(axis))
      return emitError(loc) << "the mesh has no axis \"" << axis << "\"";
    if (!seen.insert(axis).second)
      return emitError(loc) << "axis \"" << axis << "\" is given twice in data.axes";
  }
  if (!strategy.has_tensor())
    return success();
  const Tensor &tensor = strategy.tensor();
  Location loc = getLoc(context, "tensor.axis");
  if (!mesh.find(tensor.axis()))
    return emitError(loc) << "the mesh has no axis \"" << tensor.axis() << "\"";
  if (seen.contains(tensor.axis()))
    return emitError(loc) << "axis \"" << tensor.axis() << "\" is also in data.axes";
  for (int index = 0; index < tensor.split_size(); ++index)
    if (tensor.split(index).groups() < 1)
      return emitError(getLoc(context, "tensor.split[" + std::to_string(index) + "].groups"))
             << "there are " << tensor.split(index).groups() << " groups; there is at least 1";
  return success();
}

LogicalResult StrategyFile::checkMesh(MLIRContext *context) {
  return success(succeeded(resolveSizes(ranks, context)) && succeeded(checkTopology(context)) &&
                 succeeded(checkAxes(context)) && succeeded(checkTrain(context)) && succeeded(checkZero(context)) &&
                 succeeded(checkReduce(context)) && succeeded(checkAccumulation(context)) &&
                 succeeded(checkOffload(context)) && succeeded(checkPipeline(context)) &&
                 succeeded(checkReproducible(context)) && succeeded(checkTiles(context)));
}

LogicalResult StrategyFile::check(int64_t givenRanks, MLIRContext *context) {
  ranks = givenRanks;
  ownDataAxes.assign(strategy.data().axes().begin(), strategy.data().axes().end());
  if (strategy.mesh().axes().empty())
    return success(succeeded(checkTrain(context)) && succeeded(checkOffload(context)) &&
                   succeeded(checkTiles(context)));
  return checkMesh(context);
}

/// The axis names in `topology.order`.
static SmallVector<StringRef> getOrder(const strategy::Strategy &strategy) {
  SmallVector<StringRef> names;
  StringRef(strategy.topology().order()).split(names, ' ', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  return names;
}

LogicalResult StrategyFile::checkTopology(MLIRContext *context) const {
  const strategy::Topology &topology = strategy.topology();
  auto &axes = strategy.mesh().axes();
  int64_t ranks = 1, perNode = topology.ranks_per_node();
  llvm::StringSet<> missing;
  for (const strategy::Axis &axis : axes) {
    ranks *= axis.size();
    missing.insert(axis.name());
  }
  Location nodeLoc = getLoc(context, "topology.ranks_per_node"), orderLoc = getLoc(context, "topology.order");
  if (perNode < 0)
    return emitError(nodeLoc) << "there are " << perNode << " ranks per node; there is at least 1";
  if (perNode != 0 && perNode < ranks && ranks % perNode != 0)
    return emitError(nodeLoc) << ranks << " ranks do not fill nodes of " << perNode;
  SmallVector<StringRef> order = getOrder(strategy);
  for (StringRef name : order)
    if (!missing.erase(name))
      return emitError(orderLoc) << "the mesh has no axis \"" << name << "\", or the order gives it twice";
  for (const strategy::Axis &axis : axes)
    if (!order.empty() && missing.contains(axis.name()))
      return emitError(orderLoc) << "axis \"" << axis.name() << "\" is not in the order, which has " << order.size()
                                 << " of " << axes.size() << " axes";
  return success();
}

dist::Mesh StrategyFile::getMesh() const {
  auto &axes = strategy.mesh().axes();
  SmallVector<const strategy::Axis *> ordered;
  // A named variable, because `reverse` does not extend the life of a temporary.
  SmallVector<StringRef> order = getOrder(strategy);
  // The order starts with the nearest neighbours, a mesh with its slowest axis.
  for (StringRef name : llvm::reverse(order))
    ordered.push_back(&*llvm::find_if(axes, [&](const strategy::Axis &axis) { return axis.name() == name; }));
  if (ordered.empty())
    ordered = llvm::to_vector(llvm::make_pointer_range(axes));
  SmallVector<std::string> names;
  SmallVector<int64_t> sizes;
  for (const strategy::Axis *axis : ordered) {
    names.push_back(axis->name());
    sizes.push_back(axis->size());
  }
  return dist::Mesh(names, sizes);
}

/// The default of a field as the text format writes it.
static std::string printDefault(const FieldDescriptor &field) {
  switch (field.cpp_type()) {
  case FieldDescriptor::CPPTYPE_DOUBLE: {
    char text[32];
    return {text, std::to_chars(std::begin(text), std::end(text), field.default_value_double()).ptr};
  }
  case FieldDescriptor::CPPTYPE_INT64:
    return std::to_string(field.default_value_int64());
  case FieldDescriptor::CPPTYPE_BOOL:
    return field.default_value_bool() ? "true" : "false";
  default:
    return "";
  }
}

/// A line for every optimizer but AdamW, which the template spells out: its fields, with their defaults.
static std::string listOptimizers() {
  std::string text;
  const auto *choice = Train::descriptor()->FindOneofByName("optimizer");
  for (int index = 0; index < choice->field_count(); ++index) {
    const FieldDescriptor *optimizer = choice->field(index);
    if (optimizer->message_type() == AdamW::descriptor())
      continue;
    text += (text.empty() ? "" : "\n  #   ") + std::string(optimizer->name()) + " {";
    for (int at = 0; at < optimizer->message_type()->field_count(); ++at) {
      const FieldDescriptor *field = optimizer->message_type()->field(at);
      text += " " + std::string(field->name()) + (field->has_default_value() ? ": " + printDefault(*field) : "");
    }
    text += " }";
  }
  return text;
}

StringRef strategy::getTemplate() {
  static const std::string text = [] {
    std::string result =
#include "lib/Strategy/Template.inc"
        ;
    StringRef marker = "%optimizers%";
    return result.replace(result.find(marker), marker.size(), listOptimizers());
  }();
  return text;
}

StrategyFile StrategyFile::forEvaluation() const {
  StrategyFile file = *this;
  file.isForEvaluation = true;
  file.strategy.clear_train();
  file.strategy.clear_fetch();
  file.strategy.clear_reduce();
  file.strategy.clear_offload();
  return file;
}
