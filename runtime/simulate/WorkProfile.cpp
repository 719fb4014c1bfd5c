//===- WorkProfile.cpp - the time of a step by kinds of work --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/WorkProfile.h"
#include <algorithm>
#include <fmt/ranges.h>
#include <map>
#include <tuple>

using namespace meshwright;
using namespace meshwright::runtime;

double WorkRow::getFlopsPerSecond() const { return product && seconds > 0 ? flops / seconds : 0; }

double WorkRow::getBytesPerSecond() const {
  double time = isCollective ? movingSeconds : seconds;
  return !product && time > 0 ? bytes / time : 0;
}

std::optional<double> WorkRow::getShare(const DeviceRates &best) const {
  if (isCollective)
    return std::nullopt;
  if (!product)
    return best.bytesPerSecond > 0 ? std::optional(getBytesPerSecond() / best.bytesPerSecond) : std::nullopt;
  auto rate = best.flopsPerSecond.find(*product);
  return rate != best.flopsPerSecond.end() && rate->second > 0 ? std::optional(getFlopsPerSecond() / rate->second)
                                                               : std::nullopt;
}

namespace {

/// `f32 12x128x64x128`: the batch, if there is one, rows, columns and addends, and which operand is transposed.
std::string describe(const Matmul &matmul) {
  std::string batch;
  for (int64_t size : matmul.batch())
    batch += fmt::format("{}x", size);
  auto isTransposed = [](const auto &strides) {
    return strides.size() >= 2 && strides[strides.size() - 1] != 1 && strides[strides.size() - 2] == 1;
  };
  return fmt::format("product {} {}{}x{}x{}{}{}", getName(matmul.lhs_dtype()), batch, matmul.m(), matmul.n(),
                     matmul.k(), isTransposed(matmul.lhs_strides()) ? ", lhs transposed" : "",
                     isTransposed(matmul.rhs_strides()) ? ", rhs transposed" : "");
}

/// `convolution f32 4x64x64, window 3x3, 1 group`: images, features in and out.
std::string describe(const Convolution &convolution) {
  std::vector<int64_t> window;
  for (const ConvolutionWindow &dim : convolution.window())
    window.push_back(dim.size());
  return fmt::format("convolution {} {}x{}x{}, window {}, {} group{}", getName(convolution.lhs_dtype()),
                     convolution.batch(), convolution.channels(), convolution.features(), fmt::join(window, "x"),
                     convolution.groups(), convolution.groups() == 1 ? "" : "s");
}

std::string describe(const Collective &collective, const Mesh &mesh) {
  std::vector<std::string> axes;
  for (uint32_t axis : collective.axes())
    axes.push_back(fmt::format("\"{}\"", mesh.getName(axis)));
  return fmt::format("{} {} [{}]", getName(collective.kind()), getName(collective.dtype()), fmt::join(axes, ", "));
}

std::string describe(const Instruction &instruction, const Mesh &mesh) {
  switch (instruction.kind_case()) {
  case Instruction::kMatmul:
    return describe(instruction.matmul());
  case Instruction::kConvolution:
    return describe(instruction.convolution());
  case Instruction::kKernel:
    return "kernel " + instruction.kernel().symbol();
  case Instruction::kCollective:
    return describe(instruction.collective(), mesh);
  case Instruction::kWait:
    return "wait for started collectives";
  case Instruction::kCopyWait:
    return "wait for started copies";
  default:
    return "copy";
  }
}

std::optional<DType> getProductType(const Instruction &instruction) {
  if (instruction.has_matmul())
    return instruction.matmul().lhs_dtype();
  return instruction.has_convolution() ? std::optional(instruction.convolution().lhs_dtype()) : std::nullopt;
}

void addSpan(WorkRow &row, const StepSpan &span) {
  double seconds = span.getSeconds();
  if (span.kind == StepSpan::Collective) {
    row.calls += 1;
    row.movingSeconds += seconds;
    row.bytes += span.bytes;
    return;
  }
  row.seconds += seconds;
  if (span.instruction->has_collective())
    return;
  row.calls += 1;
  row.flops += span.instruction->flops();
  row.bytes += static_cast<double>(span.instruction->traffic_bytes());
}

} // namespace

WorkProfile meshwright::runtime::profileWork(const Session &session, std::span<const StepTrace *const> traces) {
  WorkProfile profile;
  if (traces.empty())
    return profile;
  std::map<std::string, WorkRow> rows;
  // Few instructions are described, each many times.
  std::map<const Instruction *, WorkRow *> known;
  for (const StepTrace *trace : traces) {
    profile.seconds += trace->seconds / static_cast<double>(traces.size());
    for (const StepSpan &span : trace->spans) {
      auto [entry, isNew] = known.try_emplace(span.instruction, nullptr);
      if (isNew) {
        std::string work = describe(*span.instruction, session.getMesh());
        WorkRow &row = rows[work];
        if (row.work.empty()) {
          row.work = work;
          row.name = span.instruction->name();
          row.location = span.instruction->location();
          row.product = getProductType(*span.instruction);
          row.isCollective = span.instruction->has_collective();
        }
        entry->second = &row;
      }
      addSpan(*entry->second, span);
    }
  }
  double share = 1 / (static_cast<double>(traces.size()) * static_cast<double>(session.getNumRanks()));
  for (auto &[work, row] : rows) {
    for (double *sum : {&row.calls, &row.seconds, &row.flops, &row.bytes, &row.movingSeconds})
      *sum *= share;
    profile.rows.push_back(std::move(row));
  }
  std::sort(profile.rows.begin(), profile.rows.end(), [](const WorkRow &a, const WorkRow &b) {
    return std::tie(b.seconds, b.movingSeconds, a.work) < std::tie(a.seconds, a.movingSeconds, b.work);
  });
  return profile;
}
