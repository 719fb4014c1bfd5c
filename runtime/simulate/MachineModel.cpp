//===- MachineModel.cpp - what a machine takes for what -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fits the cost of a kind of instruction as seconds = call + bytes / bandwidth + flops / rate by least squares of
// relative errors over measured points, with the best subset of terms that are not negative, and reads and writes the
// result as machine.proto.
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/MachineModel.h"
#include "machine.pb.h"
#include "meshwright/runtime/DType.h"
#include "meshwright/runtime/Files.h"
#include "meshwright/runtime/Package.h"
#include <algorithm>
#include <array>
#include <cmath>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>

using namespace meshwright;
using namespace meshwright::runtime;

//===----------------------------------------------------------------------===//
// Fitting
//===----------------------------------------------------------------------===//

namespace {

constexpr size_t numTerms = 3;
using Terms = std::array<double, numTerms>;

/// The least squares of `terms · x = 1` over the terms of `subset`, by Gauss's elimination of the normal equations;
/// nothing where they leave it open.
std::optional<Terms> solve(std::span<const Terms> rows, unsigned subset) {
  std::array<std::array<double, numTerms + 1>, numTerms> matrix = {};
  std::vector<size_t> chosen;
  for (size_t i = 0; i != numTerms; ++i)
    if (subset >> i & 1)
      chosen.push_back(i);
  for (const Terms &row : rows)
    for (size_t i = 0; i != chosen.size(); ++i) {
      for (size_t j = 0; j != chosen.size(); ++j)
        matrix[i][j] += row[chosen[i]] * row[chosen[j]];
      matrix[i][numTerms] += row[chosen[i]];
    }
  for (size_t i = 0; i != chosen.size(); ++i) {
    size_t pivot = i;
    for (size_t j = i; j != chosen.size(); ++j)
      if (std::fabs(matrix[j][i]) > std::fabs(matrix[pivot][i]))
        pivot = j;
    // Columns are scaled to 1: below this they are one the multiple of another.
    if (std::fabs(matrix[pivot][i]) < 1e-9)
      return std::nullopt;
    std::swap(matrix[i], matrix[pivot]);
    for (size_t j = 0; j != chosen.size(); ++j) {
      if (j == i)
        continue;
      double factor = matrix[j][i] / matrix[i][i];
      for (size_t k = i; k <= numTerms; ++k)
        matrix[j][k] -= factor * matrix[i][k];
    }
  }
  Terms solution = {};
  for (size_t i = 0; i != chosen.size(); ++i)
    solution[chosen[i]] = matrix[i][numTerms] / matrix[i][i];
  return solution;
}

double getError(std::span<const Terms> rows, const Terms &solution) {
  double error = 0;
  for (const Terms &row : rows) {
    double sum = -1;
    for (size_t i = 0; i != numTerms; ++i)
      sum += row[i] * solution[i];
    error += sum * sum;
  }
  return error;
}

} // namespace

WorkModel WorkModel::fit(std::span<const Point> points) {
  // Divided by the measured time, a point asks for call · 1/t + byte · bytes/t + flop · flops/t = 1.
  std::vector<Terms> rows;
  Terms scale = {};
  for (const Point &point : points) {
    rows.push_back({1 / point.seconds, point.bytes / point.seconds, point.flops / point.seconds});
    for (size_t i = 0; i != numTerms; ++i)
      scale[i] = std::max(scale[i], rows.back()[i]);
  }
  for (Terms &row : rows)
    for (size_t i = 0; i != numTerms; ++i)
      row[i] /= scale[i] > 0 ? scale[i] : 1;
  // Where the best solution has something below zero, the best one without is that of fewer terms.
  Terms best = {};
  double least = getError(rows, best);
  for (unsigned subset = 1; subset != 1u << numTerms; ++subset) {
    std::optional<Terms> solution = solve(rows, subset);
    if (!solution || std::any_of(solution->begin(), solution->end(), [](double term) { return term < 0; }))
      continue;
    if (double error = getError(rows, *solution); error < least) {
      least = error;
      best = *solution;
    }
  }
  for (size_t i = 0; i != numTerms; ++i)
    best[i] /= scale[i] > 0 ? scale[i] : 1;
  return {best[0], best[1], best[2]};
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

/// A kernel reduces where the largest of its results has less than a quarter of the elements of its largest operand.
static WorkKind getKind(const Program &program, const Kernel &kernel) {
  uint64_t operands = 0, results = 0;
  for (int i = 0; i != kernel.arguments_size(); ++i) {
    const Buffer &buffer = program.buffers(static_cast<int>(kernel.arguments(i)));
    uint64_t elements = getArrayBytes(buffer) / getSize(buffer.dtype());
    bool isResult = i >= kernel.arguments_size() - static_cast<int>(kernel.outputs());
    (isResult ? results : operands) = std::max(isResult ? results : operands, elements);
  }
  return results < operands / 4 ? WorkKind::Reduction : WorkKind::Elementwise;
}

std::optional<Work> meshwright::runtime::getWork(const Program &program, const Instruction &instruction) {
  auto bytes = static_cast<double>(instruction.traffic_bytes());
  switch (instruction.kind_case()) {
  case Instruction::kKernel:
    return Work{getKind(program, instruction.kernel()), F32, bytes, instruction.flops()};
  case Instruction::kMatmul:
    return Work{WorkKind::Product, instruction.matmul().lhs_dtype(), bytes, instruction.flops()};
  case Instruction::kConvolution:
    return Work{WorkKind::Convolution, F32, bytes, instruction.flops()};
  case Instruction::kCopy: {
    const Buffer &from = program.buffers(static_cast<int>(instruction.copy().from())),
                 &to = program.buffers(static_cast<int>(instruction.copy().to()));
    if (from.memory() != to.memory())
      return std::nullopt;
    return Work{WorkKind::Copy, F32, 2.0 * static_cast<double>(getArrayBytes(to)), 0};
  }
  default:
    return std::nullopt;
  }
}

double MachineModel::getSeconds(const Work &wanted) const {
  auto known = work.find({wanted.kind, wanted.type});
  // For products of another type, one of any type; for other kinds, the elementwise one.
  if (known == work.end())
    known = work.lower_bound({wanted.kind, DTYPE_INVALID});
  if (known == work.end() || known->first.first != wanted.kind)
    known = work.find({WorkKind::Elementwise, F32});
  return known == work.end() ? 0 : known->second.getSeconds(wanted.bytes, wanted.flops);
}

LinkModel MachineModel::getLink(bool isWithinHost) const {
  constexpr LinkModel nothing{0, HUGE_VAL};
  if (!isWithinHost && nodeLink)
    return *nodeLink;
  return link ? *link : nodeLink.value_or(nothing);
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

namespace {

/// The first error that the parser finds.
class FirstError : public google::protobuf::io::ErrorCollector {
public:
  void AddError(int errorLine, int, const std::string &errorText) override {
    if (!text.empty())
      return;
    line = errorLine + 1;
    text = errorText;
  }
  int line = 0;
  std::string text;
};

double getRate(double perSecond) { return perSecond > 0 ? 1 / perSecond : 0; }

WorkModel fromMessage(const machine::Work &message) {
  return {message.seconds_per_call(), getRate(message.bytes_per_second()), getRate(message.flops_per_second())};
}

void toMessage(const WorkModel &model, machine::Work &message) {
  message.set_seconds_per_call(model.call);
  if (model.byte > 0)
    message.set_bytes_per_second(1 / model.byte);
  if (model.flop > 0)
    message.set_flops_per_second(1 / model.flop);
}

Result<std::optional<LinkModel>> fromMessage(bool isThere, const machine::Link &message, const char *name) {
  if (!isThere)
    return std::optional<LinkModel>();
  if (!(message.latency_seconds() >= 0 && message.latency_seconds() <= 60) || !(message.bytes_per_second() > 0))
    return inputError("{} has a latency of {} s and {} bytes per second; 0 to 60 s and more than 0 bytes are wanted",
                      name, message.latency_seconds(), message.bytes_per_second());
  return std::optional(LinkModel{message.latency_seconds(), message.bytes_per_second()});
}

Status checkWork(const machine::Work &message, std::string_view name) {
  for (double value : {message.seconds_per_call(), message.bytes_per_second(), message.flops_per_second()})
    if (!(value >= 0) || std::isinf(value))
      return inputError("{} has {}, which is no time and no rate", name, value);
  return {};
}

/// The kinds with a field of their own.
constexpr struct {
  WorkKind kind;
  const char *name;
  bool (machine::Machine::*has)() const;
  const machine::Work &(machine::Machine::*get)() const;
  machine::Work *(machine::Machine::*add)();
} kinds[] = {
    {WorkKind::Elementwise, "elementwise", &machine::Machine::has_elementwise, &machine::Machine::elementwise,
     &machine::Machine::mutable_elementwise},
    {WorkKind::Reduction, "reduction", &machine::Machine::has_reduction, &machine::Machine::reduction,
     &machine::Machine::mutable_reduction},
    {WorkKind::Convolution, "convolution", &machine::Machine::has_convolution, &machine::Machine::convolution,
     &machine::Machine::mutable_convolution},
    {WorkKind::Copy, "copy", &machine::Machine::has_copy, &machine::Machine::copy, &machine::Machine::mutable_copy},
};

std::optional<DType> findType(const std::string &name) {
  for (int type = F32; type <= U64; ++type)
    if (name == getName(static_cast<DType>(type)))
      return static_cast<DType>(type);
  return std::nullopt;
}

Result<MachineModel> fromMessage(const machine::Machine &message) {
  MachineModel model;
  model.description = message.description();
  MW_TRY_ASSIGN(model.link, fromMessage(message.has_link(), message.link(), "link"));
  MW_TRY_ASSIGN(model.nodeLink, fromMessage(message.has_node_link(), message.node_link(), "node_link"));
  for (const auto &kind : kinds)
    if ((message.*kind.has)()) {
      MW_TRY(checkWork((message.*kind.get)(), kind.name));
      model.work[{kind.kind, F32}] = fromMessage((message.*kind.get)());
    }
  for (const machine::Product &product : message.product()) {
    std::optional<DType> type = findType(product.type());
    if (!type)
      return inputError("\"{}\" is no type of a product; f32 would be one", product.type());
    MW_TRY(checkWork(product.work(), "product of " + product.type()));
    model.work[{WorkKind::Product, *type}] = fromMessage(product.work());
  }
  return model;
}

} // namespace

Result<MachineModel> MachineModel::read(const std::string &path) {
  MW_TRY_ASSIGN(InputFile file, InputFile::open(path));
  std::string text(reinterpret_cast<const char *>(file.bytes().data()), file.bytes().size());
  machine::Machine message;
  FirstError error;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&error);
  if (!parser.ParseFromString(text, &message))
    return inputError("{}:{}: {}", path, error.line, error.text);
  auto model = fromMessage(message);
  return model.ok() ? model : Result<MachineModel>(model.status().within(path));
}

std::string MachineModel::toText() const {
  machine::Machine message;
  message.set_description(description);
  auto setLink = [](const LinkModel &model, machine::Link &target) {
    target.set_latency_seconds(model.latency);
    target.set_bytes_per_second(model.bandwidth);
  };
  if (link)
    setLink(*link, *message.mutable_link());
  if (nodeLink)
    setLink(*nodeLink, *message.mutable_node_link());
  for (const auto &kind : kinds)
    if (auto known = work.find({kind.kind, F32}); known != work.end())
      toMessage(known->second, *(message.*kind.add)());
  for (const auto &[key, model] : work)
    if (key.first == WorkKind::Product) {
      machine::Product *product = message.add_product();
      product->set_type(std::string(getName(key.second)));
      toMessage(model, *product->mutable_work());
    }
  std::string text;
  google::protobuf::TextFormat::PrintToString(message, &text);
  return text;
}
