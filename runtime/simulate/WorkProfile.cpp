//===- WorkProfile.cpp - the time of a step by kinds of work --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sums up the spans of traced steps by the work that they do, and tells why work is slower than the device at its best:
// from its own rates, and from the time that one of its instructions takes when it is repeated alone.
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

/// Work that reaches so much of a best rate needs no explanation.
static constexpr double kGoodShare = 0.6;
/// Work that takes at most so much of its time when it is alone waits for its operands in the step.
static constexpr double kWarmShare = 0.8;
/// A shorter call is made of its overhead.
static constexpr double kShortSeconds = 10e-6;

/// The word and the sentence of each limit, in their order.
static constexpr struct {
  std::string_view name, sentence;
} limitTexts[] = {
    {"", ""},
    {"ranks", "waits for other ranks or for their data"},
    {"memory", "moves as many bytes per second as 60 % of the best copy or more"},
    {"cold", "alone, repeated with operands in the caches, it takes at most 80 % of the time"},
    {"calls", "a call is shorter than 10 us"},
    {"shape", "alone, it is no faster: the library's rate for this shape"},
    {"operations", "alone, it is no faster: a kernel of one operation per byte or more"},
    {"order", "alone, it is no faster: a kernel or copy that moves bytes by strides or indices"},
};
static_assert(std::size(limitTexts) == static_cast<size_t>(WorkLimit::Order) + 1);

std::string_view meshwright::runtime::getName(WorkLimit limit) { return limitTexts[static_cast<size_t>(limit)].name; }
std::string_view meshwright::runtime::explain(WorkLimit limit) {
  return limitTexts[static_cast<size_t>(limit)].sentence;
}

WorkLimit WorkRow::getLimit(const DeviceRates &best) const {
  if (isCollective || isWait)
    return WorkLimit::Ranks;
  std::optional<double> share = getShare(best);
  if (!share || *share >= kGoodShare)
    return WorkLimit::None;
  if (product && bytes >= kGoodShare * best.bytesPerSecond * seconds)
    return WorkLimit::Memory;
  if (aloneSeconds && *aloneSeconds <= kWarmShare * seconds)
    return WorkLimit::Cold;
  if (seconds < kShortSeconds * calls)
    return WorkLimit::Calls;
  if (product)
    return WorkLimit::Shape;
  return flops >= bytes ? WorkLimit::Operations : WorkLimit::Order;
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
          row.isWait = span.instruction->has_wait() || span.instruction->has_copy_wait();
        }
        entry->second = &row;
      }
      addSpan(*entry->second, span);
      bool isHere = session.getRanks().begin <= span.rank && span.rank < session.getRanks().end;
      if (!entry->second->example && isHere && span.kind == StepSpan::Compute) {
        entry->second->example = span.instruction;
        entry->second->rank = span.rank;
      }
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

Status meshwright::runtime::measureAlone(Session &session, WorkProfile &profile, double leastShare) {
  for (WorkRow &row : profile.rows) {
    if (!row.example || row.seconds < leastShare * profile.seconds)
      continue;
    MW_TRY_ASSIGN(std::optional<double> seconds, session.measureAlone(row.rank, *row.example));
    if (seconds)
      row.aloneSeconds = *seconds * row.calls;
  }
  return {};
}
