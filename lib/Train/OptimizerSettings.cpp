//===- OptimizerSettings.cpp - the strategy's optimizers per group --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Settings of optimizers are messages of the strategy. Here they are read by reflection, by the names of the fields
// that mean the same in all of them (Optimizers.h), so that no list of optimizers or settings stands beside the schema.
//
//===----------------------------------------------------------------------===//

#include "OptimizerSettings.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/text_format.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::train;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

namespace {

/// Reports errors in the text of the option.
class Errors : public google::protobuf::io::ErrorCollector {
public:
  explicit Errors(Operation *op) : op(op) {}
  void AddError(int line, google::protobuf::io::ColumnNumber column, const std::string &message) override {
    op->emitError() << "option train, line " << std::max(line, 0) + 1 << ", column " << std::max(column, 0) + 1 << ": "
                    << message;
  }

private:
  Operation *op;
};

} // namespace

FailureOr<strategy::Train> train::parseTrain(StringRef text, Operation *op) {
  Errors errors(op);
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&errors);
  parser.SetRecursionLimit(32);
  strategy::Train train;
  if (!parser.ParseFromString(text.str(), &train))
    return failure();
  return train;
}

/// The field of that name; null where the settings have none.
static const FieldDescriptor *findField(const Message &settings, StringRef name) {
  return settings.GetDescriptor()->FindFieldByName(name.str());
}

double train::getNumber(const Message &settings, StringRef name) {
  const FieldDescriptor *field = findField(settings, name);
  return field ? settings.GetReflection()->GetDouble(settings, field) : 0;
}

static std::vector<std::string> getGlobs(const Message &settings, StringRef name) {
  std::vector<std::string> globs;
  if (const FieldDescriptor *field = findField(settings, name))
    for (int index = 0; index < settings.GetReflection()->FieldSize(settings, field); ++index)
      globs.push_back(settings.GetReflection()->GetRepeatedString(settings, field, index));
  return globs;
}

/// The optimizer that `owner`, a `Train` or `ParameterGroup`, chooses; null where it chooses none.
static const Message *findChosen(const Message &owner) {
  const auto *choice = owner.GetDescriptor()->FindOneofByName("optimizer");
  const auto *field = owner.GetReflection()->GetOneofFieldDescriptor(owner, choice);
  return field ? &owner.GetReflection()->GetMessage(owner, field) : nullptr;
}

/// The optimizer of the parameters that no group chooses another for.
static const Message &getDefault(const strategy::Train &train) {
  const Message *chosen = findChosen(train);
  return chosen ? *chosen : strategy::AdamW::default_instance();
}

static GroupSettings makeSettings(std::shared_ptr<Message> settings) {
  GroupSettings group;
  group.optimizer = findOptimizer(settings->GetDescriptor());
  assert(group.optimizer && "every optimizer of the strategy is in the table");
  group.decay = getGlobs(*settings, "decay");
  group.rate = static_cast<const strategy::LearningRate &>(
      settings->GetReflection()->GetMessage(*settings, findField(*settings, "lr")));
  group.settings = std::move(settings);
  return group;
}

/// Sets the field `name`, which the optimizer has to have.
static LogicalResult replaceNumber(Message &settings, StringRef name, double value, Operation *op) {
  const FieldDescriptor *field = findField(settings, name);
  if (!field)
    return op->emitError() << "a group overrides " << name << ", which " << settings.GetDescriptor()->name()
                           << " does not take";
  settings.GetReflection()->SetDouble(&settings, field, value);
  return success();
}

static std::shared_ptr<Message> copy(const Message &settings) {
  std::shared_ptr<Message> result(settings.New());
  result->CopyFrom(settings);
  return result;
}

FailureOr<std::vector<GroupSettings>> train::collectSettings(const strategy::Train &train, Operation *op) {
  std::vector<GroupSettings> result;
  for (const strategy::ParameterGroup &group : train.group()) {
    const Message *chosen = findChosen(group);
    std::shared_ptr<Message> settings = copy(chosen ? *chosen : getDefault(train));
    if ((group.has_weight_decay() && failed(replaceNumber(*settings, "weight_decay", group.weight_decay(), op))) ||
        (group.has_l2() && failed(replaceNumber(*settings, "l2", group.l2(), op))))
      return failure();
    GroupSettings made = makeSettings(std::move(settings));
    made.match.assign(group.match().begin(), group.match().end());
    made.rateScale = group.lr_scale();
    if (group.lr().schedule_case() != strategy::LearningRate::SCHEDULE_NOT_SET)
      made.rate = group.lr();
    result.push_back(std::move(made));
  }
  result.push_back(makeSettings(copy(getDefault(train))));
  return result;
}
