//===- PipelineRun.h - runs a pipeline made by hand -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TEST_UNIT_RUNTIME_PIPELINERUN_H
#define MESHWRIGHT_TEST_UNIT_RUNTIME_PIPELINERUN_H

#include "PipelinePackage.h"
#include "TempFolder.h"
#include "TestPackage.h"
#include "meshwright/runtime/Session.h"
#include <gtest/gtest.h>

namespace meshwright::test {

/// An order that exists.
inline schedule::TaskOrder getOrder(schedule::OrderKind kind, const schedule::OrderShape &shape) {
  llvm::Expected<schedule::TaskOrder> order = schedule::makeOrder(kind, shape);
  if (order)
    return std::move(*order);
  ADD_FAILURE() << llvm::toString(order.takeError());
  return {};
}

/// A pipeline with its initial values and its input, which are those of the plain loops.
class PipelineRun {
public:
  /// Opens a package that is written to `folder`. Where it is refused, `status` says why.
  PipelineRun(const Package &message, const std::string &folder, const runtime::SessionOptions &options = {});

  float get(const std::string &output) const;
  /// The array of a value.
  std::vector<float> getArray(const runtime::ValueSet &set, const std::string &name) const;

  runtime::Status status;
  std::optional<runtime::LoadedPackage> package;
  std::unique_ptr<runtime::Session> session;

private:
  runtime::Status open(const std::string &folder, const runtime::SessionOptions &options);
  void set(const runtime::ValueSet &set, size_t index, float (*getValue)(size_t value, size_t element));
};

/// The same network in plain loops.
struct PlainPipeline {
  explicit PlainPipeline(int64_t stages);
  /// A step; returns its loss.
  float step(int64_t microBatches);
  std::vector<std::vector<float>> w;
};

} // namespace meshwright::test

#endif
