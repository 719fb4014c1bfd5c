//===- PipelineRun.cpp - runs a pipeline made by hand ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PipelineRun.h"

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::test;

/// Small enough for every product of a test to be exact.
static float getInput(size_t, size_t element) { return static_cast<float>(element % 7) - 3; }
static float getWeight(size_t stage, size_t element) { return (stage + element) % 3 == 0 ? -1 : 1; }

PipelineRun::PipelineRun(const Package &message, const std::string &folder, const SessionOptions &options) {
  EXPECT_TRUE(writePackage(message, folder));
  status = open(folder, options);
}

Status PipelineRun::open(const std::string &folder, const SessionOptions &options) {
  MW_TRY_ASSIGN(package, LoadedPackage::open(folder));
  MW_TRY_ASSIGN(session, Session::create(*package, options));
  for (size_t stage = 0; stage != session->getVariables().size(); ++stage)
    set(session->getVariables(), stage, getWeight);
  set(session->getInputs(), 0, getInput);
  return {};
}

void PipelineRun::set(const ValueSet &set, size_t index, float (*getValue)(size_t, size_t)) {
  std::vector<float> values(set.getBytes(index) / 4);
  for (size_t element = 0; element != values.size(); ++element)
    values[element] = getValue(index, element);
  session->scatter(set, index, std::as_bytes(std::span(values)));
}

std::vector<float> PipelineRun::getArray(const ValueSet &set, const std::string &name) const {
  size_t index = *set.find(name);
  std::vector<float> values(set.getBytes(index) / 4);
  EXPECT_TRUE(session->gather(set, index, std::as_writable_bytes(std::span(values))).ok());
  return values;
}

float PipelineRun::get(const std::string &output) const { return getArray(session->getOutputs(), output)[0]; }

PlainPipeline::PlainPipeline(int64_t stages) : w(stages, std::vector<float>(pipelineWidth)) {
  for (size_t stage = 0; stage != w.size(); ++stage)
    for (size_t element = 0; element != w[stage].size(); ++element)
      w[stage][element] = getWeight(stage, element);
}

float PlainPipeline::step(int64_t microBatches) {
  float loss = 0;
  std::vector<std::vector<float>> gradients(w.size(), std::vector<float>(pipelineWidth));
  for (int64_t microBatch = 0; microBatch != microBatches; ++microBatch) {
    float part = 0;
    for (int64_t element = 0; element != pipelineWidth; ++element) {
      std::vector<float> operands = {getInput(0, microBatch * pipelineWidth + element)};
      for (const std::vector<float> &weights : w)
        operands.push_back(operands.back() * weights[element]);
      part += operands.back();
      float above = 1;
      for (size_t stage = w.size(); stage-- != 0;) {
        gradients[stage][element] += above * operands[stage];
        above *= w[stage][element];
      }
    }
    loss += part;
  }
  for (size_t stage = 0; stage != w.size(); ++stage)
    for (int64_t element = 0; element != pipelineWidth; ++element)
      w[stage][element] -= gradients[stage][element] / 8;
  return loss;
}
