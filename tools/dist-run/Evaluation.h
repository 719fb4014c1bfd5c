//===- Evaluation.h - runs the programs that evaluate -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TOOLS_DISTRUN_EVALUATION_H
#define MESHWRIGHT_TOOLS_DISTRUN_EVALUATION_H

#include "Options.h"
#include "meshwright/runtime/SerialCheck.h"

namespace meshwright::tool {

/// The results of one evaluation: means of the scalars over its batches.
struct EvaluationMetrics {
  /// The step that begins when it is over.
  uint64_t step = 0;
  std::optional<double> loss;
  std::vector<std::pair<std::string, double>> outputs;
  uint64_t batches = 0;
  double seconds = 0;
  /// Comparisons of the batches with the serial program, if the run makes them.
  std::vector<runtime::CheckReport> checks;

  /// One JSON object on one line, its keys below `eval/`.
  std::string toJson() const;
};

/// The programs of a package that evaluate, between the steps of those that train, in their memory.
class Evaluation {
public:
  /// Nothing where the package has no such programs, or where neither it nor the command line says when they run.
  /// `options` is that of the session.
  static runtime::Result<std::unique_ptr<Evaluation>> create(const runtime::Session &trained, const Options &options,
                                                             runtime::SessionOptions sessionOptions);

  /// True if an evaluation is due after `done` of `steps` steps.
  bool isDue(uint64_t done, uint64_t steps) const { return done == steps || (every != 0 && done % every == 0); }
  /// Runs all batches. Outputs of the session that trains are lost by that.
  runtime::Result<EvaluationMetrics> run(uint64_t done);

private:
  Evaluation(uint64_t every, uint64_t batches) : every(every), batches(batches) {}
  runtime::Status runBatch(uint64_t number, EvaluationMetrics &metrics);
  runtime::Status addScalars(EvaluationMetrics &metrics) const;

  /// 0: only after the last step.
  uint64_t every, batches;
  std::unique_ptr<runtime::Session> session;
  std::unique_ptr<runtime::SerialCheck> check;
  std::optional<runtime::Feeder> feeder;
};

} // namespace meshwright::tool

#endif
