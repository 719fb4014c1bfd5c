//===- CheckTrain.cpp - checks of train -----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks the numbers of `train` by the names of their fields, in whatever message they are, so that a new optimizer is
// covered without further code. Checks that involve several fields follow.
//
//===----------------------------------------------------------------------===//

#include "Numbers.h"
#include "dialects/Dist/Times.h"
#include "meshwright/Strategy/Strategy.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace mlir;
using namespace meshwright;
using namespace meshwright::strategy;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

namespace {

/// The allowed range of a number.
struct Bound {
  enum Kind { Fraction, Positive, NotNegative } kind;
  /// Field names, in any message.
  SmallVector<StringRef> fields;
};

/// Checks the numbers of a message by the names of its fields, recursively.
class NumberChecker {
public:
  NumberChecker(const StrategyFile &file, MLIRContext *context) : file(file), context(context) {}

  LogicalResult check(const Message &message, const std::string &path) const {
    const auto *reflection = message.GetReflection();
    std::vector<const FieldDescriptor *> fields;
    reflection->ListFields(message, &fields);
    for (const FieldDescriptor *field : fields) {
      std::string name = path + "." + std::string(field->name());
      if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
        for (int index = 0; index < (field->is_repeated() ? reflection->FieldSize(message, field) : 1); ++index)
          if (failed(field->is_repeated() ? check(reflection->GetRepeatedMessage(message, field, index),
                                                  name + "[" + std::to_string(index) + "]")
                                          : check(reflection->GetMessage(message, field), name)))
            return failure();
      } else if (!field->is_repeated()) {
        if (field->cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE &&
            failed(check(name, field->name(), reflection->GetDouble(message, field))))
          return failure();
        if (field->cpp_type() == FieldDescriptor::CPPTYPE_INT64 &&
            failed(check(name, field->name(), static_cast<double>(reflection->GetInt64(message, field)))))
          return failure();
      }
    }
    return success();
  }

private:
  LogicalResult check(const std::string &path, StringRef field, double value) const {
    static const Bound bounds[] = {
        {Bound::Fraction, {"beta", "beta1", "beta2", "momentum", "rho", "adam_beta1", "adam_beta2"}},
        {Bound::Positive, {"global_norm", "tensor_norm", "value", "lr_scale", "min_dim", "ns_steps"}},
        {Bound::NotNegative,
         {"eps", "weight_decay", "l2", "initial", "decay_rate", "clip_rms", "consistent_rms", "adam_weight_decay"}}};
    if (StringRef(path).starts_with("train.precision.loss_scale") && !(value > 0 && std::isfinite(value)))
      return emitError(file.getLoc(context, path)) << path << " is " << toText(value) << "; it is positive";
    // A `decay` that is a number is that of an average; in optimizers the field holds globs.
    if (field == "decay" && !(value > 0 && value < 1))
      return emitError(file.getLoc(context, path)) << path << " is " << toText(value) << "; it lies in (0, 1)";
    for (const Bound &bound : bounds) {
      if (!llvm::is_contained(bound.fields, field))
        continue;
      auto error = [&]() -> InFlightDiagnostic {
        return emitError(file.getLoc(context, path)) << path << " is " << toText(value);
      };
      if (bound.kind == Bound::Fraction && !(value >= 0 && value < 1))
        return error() << "; it lies in [0, 1)";
      if (bound.kind == Bound::Positive && !(value > 0 && std::isfinite(value)))
        return error() << "; it is positive";
      if (bound.kind == Bound::NotNegative && !(value >= 0 && std::isfinite(value)))
        return error() << "; it is at least 0";
    }
    return success();
  }

  const StrategyFile &file;
  MLIRContext *context;
};

/// True if the optimizer of `settings`, a `Train` or `ParameterGroup`, has a field `name`.
bool takes(const Message &settings, StringRef name) {
  const auto *choice = settings.GetDescriptor()->FindOneofByName("optimizer");
  const FieldDescriptor *optimizer = settings.GetReflection()->GetOneofFieldDescriptor(settings, choice);
  // The default optimizer is AdamW.
  const auto *type = optimizer ? optimizer->message_type() : AdamW::descriptor();
  return type->FindFieldByName(name.str()) != nullptr;
}

} // namespace

LogicalResult StrategyFile::checkAccumulation(MLIRContext *context) const {
  const GradientAccumulation &accumulation = strategy.train().gradient_accumulation();
  auto error = [&](StringRef field) {
    return emitError(getLoc(context, ("train.gradient_accumulation" + field).str()))
           << "train.gradient_accumulation" << field << " is ";
  };
  if (accumulation.steps() < 1 || accumulation.steps() > kMostTimes)
    return error(".steps") << accumulation.steps() << "; it is at least 1 and at most " << kMostTimes;
  if (accumulation.steps() > 1 && getMesh().find(dist::kAccumulationAxis))
    return emitError(getLoc(context, "mesh")) << "axis \"" << dist::kAccumulationAxis
                                              << "\" has the name of the axis of train.gradient_accumulation.steps";
  if (failed(checkSlices("train.gradient_accumulation.slices", accumulation.slices(), context)))
    return failure();
  bool isSharded = strategy.has_zero() && strategy.zero().stage() >= 2;
  if (accumulation.reduce() == GradientAccumulation::EVERY_STEP && !isSharded)
    return error(".reduce") << "EVERY_STEP, which accumulates gradients where zero keeps them, but "
                            << (strategy.has_zero() ? "zero.stage is 1; it needs stage 2 or 3"
                                                    : "there is no zero; it needs stage 2 or 3");
  return success();
}

static LogicalResult checkRecompute(const Recompute &recompute, llvm::function_ref<Location(StringRef)> locate) {
  auto error = [&](StringRef field) { return emitError(locate(field)) << "train.recompute." << field; };
  if (!recompute.has_fit()) {
    if (recompute.anchors_size() == 1)
      return error("anchors[0]") << " has no second anchor; the operations between two anchors are recomputed";
    return success();
  }
  if (recompute.fit() <= 0)
    return error("fit") << " is " << recompute.fit() << "; it is positive";
  std::pair<bool, const char *> chosen[] = {{!recompute.blocks().empty(), "blocks[0]"},
                                            {!recompute.anchors().empty(), "anchors[0]"},
                                            {recompute.has_policy(), "policy"}};
  for (auto [given, field] : chosen)
    if (given)
      return error(field) << " chooses what to recompute, and so does fit; set only one of them";
  return success();
}

LogicalResult StrategyFile::checkTrain(MLIRContext *context) const {
  const Train &train = strategy.train();
  if (failed(NumberChecker(*this, context).check(train, "train")))
    return failure();
  if (failed(checkRecompute(train.recompute(),
                            [&](StringRef field) { return getLoc(context, ("train.recompute." + field).str()); })))
    return failure();
  for (const auto &[index, group] : llvm::enumerate(train.group())) {
    std::string path = "train.group[" + std::to_string(index) + "]";
    auto error = [&](const Twine &field) { return emitError(getLoc(context, (path + field).str())) << path; };
    if (group.match().empty())
      return error("") << " has no match; it takes globs of parameters";
    const Message &optimizer =
        group.optimizer_case() == ParameterGroup::OPTIMIZER_NOT_SET ? static_cast<const Message &>(train) : group;
    if (group.has_weight_decay() && !takes(optimizer, "weight_decay"))
      return error(".weight_decay") << " has a weight_decay, but its optimizer takes none; l2 would do";
    if (group.has_l2() && !takes(optimizer, "l2"))
      return error(".l2") << " has an l2, but its optimizer takes none; weight_decay would do";
  }
  return success();
}
