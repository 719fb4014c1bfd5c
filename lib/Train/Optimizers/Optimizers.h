//===- Optimizers.h - the optimizers of the strategy ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An optimizer is a message of strategy.proto and a file in this folder that says which transformations the message
// stands for; a line in Optimizers.cpp makes it known. The message is the only place that names its settings and their
// defaults. Fields with these names mean the same in every message:
//
//   lr             the learning rate
//   l2             times the parameter is added to the gradient, before all transformations
//   weight_decay   is what a group of parameters may override
//   decay          globs of the parameters that l2 and weight decay are for
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_TRAIN_OPTIMIZERS_OPTIMIZERS_H
#define MESHWRIGHT_LIB_TRAIN_OPTIMIZERS_OPTIMIZERS_H

#include "../GradientTransforms.h"
#include "lib/Strategy/strategy.pb.h"

namespace meshwright::train {

/// The list of transformations that an optimizer fills.
class TransformList {
public:
  /// `rate` is the learning rate, multiplied by `scale`; it is named `lr` in the program where `namesRate` is set.
  TransformList(strategy::LearningRate rate, double scale, bool namesRate)
      : rate(std::move(rate)), scale(scale), namesRate(namesRate) {}

  void add(std::unique_ptr<GradientTransform> transform) { list.push_back(std::move(transform)); }
  /// Adds `factor` times the parameter to the update, where the parameter decays.
  void addDecay(double factor);
  /// Multiplies the update by the learning rate.
  void addLearningRate();
  /// The transformation that multiplies by the learning rate.
  GradientTransform *getLearningRate() const { return learningRate; }
  /// The transformations in order. The last one leaves what is subtracted from the parameters.
  GradientTransforms take() { return std::move(list); }

private:
  strategy::LearningRate rate;
  double scale;
  bool namesRate;
  GradientTransforms list;
  GradientTransform *learningRate = nullptr;
};

/// An optimizer, as its settings describe it.
struct Optimizer {
  using Settings = google::protobuf::Message;

  /// The type of the settings.
  const google::protobuf::Descriptor *message;
  /// Adds the transformations that the settings stand for, the learning rate included.
  void (*addTransforms)(const Settings &settings, TransformList &list);
  /// Whether the optimizer is for a parameter; null where it is for all.
  bool (*isFor)(const Update &update) = nullptr;
  /// The settings of another optimizer, which the remaining parameters get; null where there are none.
  std::unique_ptr<Settings> (*makeForOthers)(const Settings &settings) = nullptr;
};

/// The optimizer whose settings are `SettingsT`, by a function that takes these.
template <typename SettingsT, void (*add)(const SettingsT &, TransformList &)> Optimizer makeOptimizer() {
  return {SettingsT::descriptor(), [](const google::protobuf::Message &settings, TransformList &list) {
            add(static_cast<const SettingsT &>(settings), list);
          }};
}

/// The optimizer of settings of that type; null where Optimizers.cpp does not list it. A test finds every optimizer of
/// the strategy.
const Optimizer *findOptimizer(const google::protobuf::Descriptor *message);

//===----------------------------------------------------------------------===//
// Transformations that several optimizers share
//===----------------------------------------------------------------------===//

/// Replaces the gradient by a sum of gradients that decays by `decay` in a step, kept in the state `name`.
std::unique_ptr<GradientTransform> makeFollowMomentum(std::string name, double decay, bool nesterov);

/// The settings of Adam's two moments, kept in the states `name`.m and `name`.v.
struct Moments {
  std::string name;
  double beta1, beta2, eps;
  bool nesterov = false;
};

/// Adam: the mean of gradients over the root of the mean of their squares, both bias corrected.
std::unique_ptr<GradientTransform> makeScaleByMoments(Moments moments);

} // namespace meshwright::train

#endif
