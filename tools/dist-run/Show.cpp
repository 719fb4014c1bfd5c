//===- Show.cpp - what is in a package ------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Show.h"
#include "Progress.h"
#include "meshwright/runtime/Communicator.h"
#include <fmt/ranges.h>
#include <map>
#include <set>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::tool;

/// The digits of every dimension as in the mapping attribute: `[["dp"], [3, "tp"]]`.
static std::string toString(const Placement &placement, std::span<const int64_t> shape, const Mesh &mesh) {
  std::vector<std::string> dims;
  for (int dim = 0; dim != placement.dims_size(); ++dim) {
    std::vector<std::string> digits;
    int64_t left = shape[dim];
    for (const Split &split : placement.dims(dim).splits()) {
      if (split.extent() != left)
        digits.push_back(fmt::format("{}", left / split.extent()));
      digits.push_back(fmt::format("\"{}\"", mesh.getName(split.axis())));
      left = split.stride();
    }
    dims.push_back(fmt::format("[{}]", fmt::join(digits, ", ")));
  }
  return fmt::format("[{}]", fmt::join(dims, ", "));
}

static void showValue(const std::string &name, DType type, const Layout &layout, const Placement &placement,
                      const Mesh &mesh, const std::string &rest) {
  bool split = !layout.getAxes().empty();
  fmt::print("  {}: {}{}{}\n", name, runtime::toString(layout.getShape(), type),
             split ? fmt::format(", {} per rank, {}", runtime::toString(layout.getLocalShape()),
                                 toString(placement, layout.getShape(), mesh))
                   : "",
             rest);
}

static void showProgram(const std::string &title, const Program &program) {
  std::map<std::string, int> kinds;
  std::map<std::string, std::pair<int, uint64_t>> collectives;
  std::set<std::string> symbols;
  double flops = 0;
  for (const Task &task : program.tasks())
    for (const Instruction &instruction : task.instructions()) {
      flops += instruction.flops();
      switch (instruction.kind_case()) {
      case Instruction::kKernel:
        ++kinds["kernels"];
        symbols.insert(instruction.kernel().symbol());
        break;
      case Instruction::kMatmul:
        ++kinds["products"];
        break;
      case Instruction::kCollective: {
        auto &[number, bytes] = collectives[std::string(runtime::getName(instruction.collective().kind()))];
        ++number;
        for (const CollectivePart &part : instruction.collective().parts())
          bytes += part.count() * getSize(instruction.collective().dtype());
        break;
      }
      case Instruction::kCopy:
        ++kinds["copies"];
        break;
      case Instruction::kWait:
        ++kinds["waits"];
        break;
      default:
        ++kinds["coordinates"];
      }
    }
  fmt::print("{}: arena {} ({} persistent), {} buffers, {:.3g} GFLOP\n", title, formatBytes(program.arena_bytes()),
             formatBytes(program.persistent_bytes()), program.buffers_size(), flops / 1e9);
  for (const auto &[kind, number] : kinds)
    fmt::print("  {} {}{}\n", number, kind, kind == "kernels" ? fmt::format(" ({} different)", symbols.size()) : "");
  for (const auto &[kind, total] : collectives)
    fmt::print("  {} {}, {} of operands\n", total.first, kind, formatBytes(total.second));
}

Status meshwright::tool::show(const LoadedPackage &package) {
  const meshwright::Package &message = package.message();
  const Mesh &mesh = package.getMesh();
  std::vector<std::string> axes;
  for (size_t axis = 0; axis != mesh.getNumAxes(); ++axis)
    axes.push_back(fmt::format("\"{}\"={}", mesh.getName(axis), mesh.getSize(axis)));
  if (!message.producer().empty())
    fmt::print("made by {}\n", message.producer());
  fmt::print("mesh [{}], {} ranks\n", fmt::join(axes, ", "), mesh.getNumRanks());
  fmt::print("{} inputs\n", message.inputs_size());
  for (int i = 0; i != message.inputs_size(); ++i) {
    const Port &port = message.inputs(i);
    std::string range = port.has_min() || port.has_max() ? fmt::format(", in [{}, {})", port.min(), port.max()) : "";
    showValue(port.name(), port.dtype(), package.getLayouts().inputs[i], port.placement(), mesh, range);
  }
  fmt::print("{} outputs\n", message.outputs_size());
  for (int i = 0; i != message.outputs_size(); ++i) {
    const Port &port = message.outputs(i);
    showValue(port.name(), port.dtype(), package.getLayouts().outputs[i], port.placement(), mesh,
              port.result() ? "" : ", fetched");
  }
  fmt::print("{} variables\n", message.variables_size());
  for (int i = 0; i != message.variables_size(); ++i) {
    const Variable &variable = message.variables(i);
    std::string kind = Variable::Kind_Name(variable.kind());
    for (char &c : kind)
      c = c == '_' ? ' ' : static_cast<char>(std::tolower(c));
    showValue(variable.name(), variable.dtype(), package.getLayouts().variables[i], variable.placement(), mesh,
              ", " + kind);
  }
  for (int i = 0; i != message.programs_size(); ++i) {
    std::vector<int64_t> ranks;
    for (int rank = 0; rank != message.program_of_rank_size(); ++rank)
      if (message.program_of_rank(rank) == static_cast<uint32_t>(i))
        ranks.push_back(rank);
    showProgram(fmt::format("program {} of ranks {}", i, fmt::join(ranks, ", ")), message.programs(i));
  }
  if (message.has_serial())
    showProgram("serial program", message.serial());
  for (const KernelLibrary &library : message.libraries())
    fmt::print("kernels for {} in {}\n", library.target(), library.file());
  return {};
}
