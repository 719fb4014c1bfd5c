//===- Strategy.cpp - everything that is not the network ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/Strategy/Strategy.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/text_format.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/Twine.h"

using namespace meshwright;
using namespace meshwright::strategy;

namespace {

/// Collects protobuf's complaints as `file:line:column: message` lines.
class Errors : public google::protobuf::io::ErrorCollector {
public:
  explicit Errors(llvm::StringRef fileName) : fileName(fileName) {}
  void AddError(int line, google::protobuf::io::ColumnNumber column, const std::string &message) override {
    if (!text.empty())
      text += "\n";
    llvm::Twine(fileName + ":" + llvm::Twine(line + 1) + ":" + llvm::Twine(column + 1) + ": " + message)
        .toVector(buffer);
    text += buffer.str();
    buffer.clear();
  }
  std::string text;

private:
  llvm::StringRef fileName;
  llvm::SmallString<128> buffer;
};

llvm::Error error(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

/// Names of axes that a field refers to.
llvm::Error checkAxes(const dist::Mesh &mesh, llvm::StringRef field,
                      const google::protobuf::RepeatedPtrField<std::string> &axes) {
  llvm::StringSet<> seen;
  for (const std::string &axis : axes) {
    if (!mesh.find(axis))
      return error(field + " names axis \"" + axis + "\", which the mesh does not have");
    if (!seen.insert(axis).second)
      return error(field + " names axis \"" + axis + "\" twice");
  }
  return llvm::Error::success();
}

/// Gives the axis of size 0, if there is one, what `ranks` leaves.
llvm::Error resolveSizes(Mesh &mesh, int64_t ranks) {
  llvm::StringSet<> seen;
  Axis *open = nullptr;
  int64_t product = 1;
  for (Axis &axis : *mesh.mutable_axes()) {
    if (axis.name().empty() || !seen.insert(axis.name()).second)
      return error("mesh: axis \"" + axis.name() + "\" is empty or stands twice");
    if (axis.size() < 0 || (axis.size() > 0 && product > INT32_MAX / axis.size()))
      return error("mesh: axis \"" + axis.name() + "\" has size " + llvm::Twine(axis.size()) +
                   "; sizes are positive and the number of ranks is at most " + llvm::Twine(INT32_MAX));
    if (axis.size() > 0) {
      product *= axis.size();
      continue;
    }
    if (open)
      return error("mesh: axes \"" + open->name() + "\" and \"" + axis.name() +
                   "\" both have size 0; one at most can be what --ranks leaves");
    open = &axis;
  }
  if (open) {
    if (ranks == 0)
      return error("mesh: axis \"" + open->name() + "\" has size 0; say --ranks to give it what the others leave");
    if (ranks % product != 0)
      return error("mesh: " + llvm::Twine(ranks) + " ranks do not divide by the " + llvm::Twine(product) +
                   " of the axes beside \"" + open->name() + "\"");
    open->set_size(ranks / product);
  } else if (ranks != 0 && ranks != product) {
    return error("mesh: the axes' sizes multiply to " + llvm::Twine(product) + " but --ranks is " + llvm::Twine(ranks));
  }
  return llvm::Error::success();
}

llvm::Error checkTrain(const Train &train) {
  const AdamW &adamw = train.adamw();
  for (auto [name, value] :
       {std::pair("adamw.beta1", adamw.beta1()), std::pair("adamw.beta2", adamw.beta2()),
        std::pair("adam.beta1", train.adam().beta1()), std::pair("adam.beta2", train.adam().beta2()),
        std::pair("momentum.momentum", train.momentum().momentum())})
    if (!(value >= 0 && value < 1))
      return error("train: " + llvm::Twine(name) + " is " + std::to_string(value) + "; it lies in [0, 1)");
  if (train.optimizer_case() == Train::OPTIMIZER_NOT_SET)
    return error("train names no optimizer; say sgd, momentum, adam or adamw");
  return llvm::Error::success();
}

} // namespace

llvm::Expected<Strategy> strategy::parseStrategy(llvm::StringRef text, llvm::StringRef fileName) {
  Errors errors(fileName);
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&errors);
  Strategy strategy;
  if (!parser.ParseFromString(text.str(), &strategy))
    return error(errors.text.empty() ? (fileName + ": this is no strategy").str() : errors.text);
  return strategy;
}

llvm::Error strategy::checkStrategy(Strategy &strategy, int64_t ranks) {
  if (auto failure = resolveSizes(*strategy.mutable_mesh(), ranks))
    return failure;
  dist::Mesh mesh = getMesh(strategy);
  if (auto failure = checkAxes(mesh, "data.axes", strategy.data().axes()))
    return failure;
  if (strategy.has_tensor()) {
    const Tensor &tensor = strategy.tensor();
    if (!mesh.find(tensor.axis()))
      return error("tensor.axis names axis \"" + tensor.axis() + "\", which the mesh does not have");
    if (llvm::is_contained(strategy.data().axes(), tensor.axis()))
      return error("axis \"" + tensor.axis() + "\" stands in data.axes and in tensor.axis");
    for (const TensorSplit &split : tensor.split())
      if (split.groups() < 1)
        return error("tensor.split of \"" + split.match() + "\" has " + llvm::Twine(split.groups()) +
                     " groups; there is at least 1");
  }
  return strategy.has_train() ? checkTrain(strategy.train()) : llvm::Error::success();
}

dist::Mesh strategy::getMesh(const Strategy &strategy) {
  llvm::SmallVector<std::string> names;
  llvm::SmallVector<int64_t> sizes;
  for (const Axis &axis : strategy.mesh().axes()) {
    names.push_back(axis.name());
    sizes.push_back(axis.size());
  }
  return dist::Mesh(names, sizes);
}

llvm::StringRef strategy::getTemplate() {
  return
#include "lib/Strategy/Template.inc"
      ;
}
