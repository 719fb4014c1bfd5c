//===- Show.cpp - what is in a package ------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints a package in the terms of its plan: placements as the mapping attribute writes them, conversions with their
// groups and bytes, and the schedule of each variant of the step.
//
//===----------------------------------------------------------------------===//

#include "Show.h"
#include "ContentHash.h"
#include "Plans.h"
#include "Progress.h"
#include "meshwright/runtime/Communicator.h"
#include "meshwright/runtime/PlacementText.h"
#include <fmt/ranges.h>
#include <map>
#include <set>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::tool;

static void showValue(const std::string &name, DType type, const Layout &layout, const Placement &placement,
                      const Mesh &mesh, const std::string &rest) {
  bool split = !layout.getPartAxes().empty() || !layout.isOnAllRanks();
  fmt::print("  {}: {}{}{}\n", name, runtime::toString(layout.getShape(), type),
             split ? fmt::format(", {} per rank, {}", runtime::toString(layout.getLocalShape()),
                                 runtime::toString(placement, layout.getShape(), mesh))
                   : "",
             rest);
}

/// Prints the parts that a launch moves, the first few by name: `grad/w 16xf32 to 1`.
static std::string toString(const Collective &collective) {
  constexpr int shown = 4;
  std::vector<std::string> parts;
  for (int i = 0; i != std::min(shown, collective.parts_size()); ++i) {
    const CollectivePart &part = collective.parts(i);
    std::string root = !hasRoot(collective.kind())
                           ? ""
                           : fmt::format(" {} {}", isReducing(collective.kind()) ? "to" : "from", part.root());
    if (collective.kind() == Collective::SEND)
      root += fmt::format(" to {}", collective.to());
    parts.push_back(fmt::format("{} {}x{}{}", part.name(), part.count(), getName(collective.dtype()), root));
  }
  if (collective.parts_size() > shown)
    parts.push_back(fmt::format("{} more", collective.parts_size() - shown));
  return fmt::format("{}", fmt::join(parts, ", "));
}

static double countFlops(const Task &task) {
  double flops = 0;
  for (const Instruction &instruction : task.instructions())
    flops += instruction.flops();
  return flops;
}

/// A copy between the memories: `start copy from the host: adamw.m/w`; nothing for others.
static std::string describeCopy(const Program &program, const Instruction &instruction) {
  const Copy &copy = instruction.copy();
  Memory to = program.buffers(static_cast<int>(copy.to())).memory();
  if (program.buffers(static_cast<int>(copy.from())).memory() == to)
    return "";
  return fmt::format("{}copy {} the host: {}", copy.start() ? "start " : "", to == HOST ? "to" : "from",
                     instruction.name());
}

/// `start c_reduce #2 over ["dp"], sum: grad/w 16xf32 to 1`.
static std::string describeCollective(const Collective &collective, const Mesh &mesh) {
  std::vector<std::string> axes;
  for (uint32_t axis : collective.axes())
    axes.push_back(fmt::format("\"{}\"", mesh.getName(axis)));
  std::string reduction =
      !isReducing(collective.kind()) ? "" : ", " + toLower(Collective::Reduction_Name(collective.reduction()));
  return fmt::format("{}{} #{} over [{}]{}: {}", collective.start() ? "start " : "",
                     runtime::getName(collective.kind()), collective.tag(), fmt::join(axes, ", "), reduction,
                     toString(collective));
}

/// Something that moves, or a wait for it; nothing for other instructions.
static std::string describeMove(const Program &program, const Instruction &instruction, const Mesh &mesh) {
  switch (instruction.kind_case()) {
  case Instruction::kWait:
    return fmt::format("wait #{}", instruction.wait().tag());
  case Instruction::kCopyWait:
    return fmt::format("wait for the copy of {}", instruction.name());
  case Instruction::kCopy:
    return describeCopy(program, instruction);
  case Instruction::kCollective:
    return describeCollective(instruction.collective(), mesh);
  default:
    return "";
  }
}

/// Prints the collectives of a step in order; in a pipeline with their micro-batches.
static void showCommunication(const Program &program, uint32_t position, const Mesh &mesh) {
  bool isPipeline = hasActions(program);
  forEachInstruction(program, position, [&](const Instruction &instruction, const ScheduleItem &item) {
    if (std::string move = describeMove(program, instruction, mesh); !move.empty())
      fmt::print("    {}{}\n", move, isPipeline ? fmt::format(", of micro-batch {}", item.micro_batch()) : "");
  });
}

/// The tasks of a step: `"last"`, or with micro-batches `"first" of micro-batch 0, "last" of micro-batch 1`.
static std::string getItems(const Program &program, uint32_t position) {
  std::vector<std::string> items;
  bool slices = false;
  for (const ScheduleItem &item : program.schedule())
    slices |= item.micro_batch() != 0;
  for (const ScheduleItem &item : program.schedule())
    if (runsAt(item, position))
      items.push_back(fmt::format("\"{}\"{}", program.tasks(static_cast<int>(item.task())).name(),
                                  slices ? fmt::format(" of micro-batch {}", item.micro_batch()) : ""));
  return fmt::format("{}", fmt::join(items, ", "));
}

/// The tasks, and for every variant of the step what it runs and moves. The one task of one step goes without saying.
static void showSchedule(const Program &program, const LoadedPackage &package, const Mesh &mesh) {
  if (program.schedule_size() < 2)
    return showCommunication(program, 0, mesh);
  for (const Task &task : program.tasks())
    fmt::print("  task \"{}\": {} instructions, {:.3g} GFLOP\n", task.name(), task.instructions_size(),
               countFlops(task) / 1e9);
  for (const StepVariant &variant : package.getVariants()) {
    fmt::print("  {}: {}\n",
               package.getAccumulationSteps() == 1 ? "step" : describe(variant, package.getAccumulationSteps()),
               getItems(program, variant.begin));
    showCommunication(program, variant.begin, mesh);
  }
}

/// Counts instructions by kind: `7 kernels (3 different)`, `2 c_allreduce, 68 B of operands`.
static void showCounts(const Program &program) {
  std::map<std::string, int> kinds;
  std::map<std::string, std::pair<int, uint64_t>> collectives;
  std::set<std::string> symbols;
  for (const Task &task : program.tasks())
    for (const Instruction &instruction : task.instructions()) {
      switch (instruction.kind_case()) {
      case Instruction::kKernel:
        ++kinds["kernels"];
        symbols.insert(instruction.kernel().symbol());
        break;
      case Instruction::kMatmul:
        ++kinds["products"];
        if (instruction.matmul().has_epilogue())
          ++kinds["products with an epilogue"];
        break;
      case Instruction::kConvolution:
        ++kinds["convolutions"];
        break;
      case Instruction::kCollective: {
        auto &[number, bytes] = collectives[std::string(runtime::getName(instruction.collective().kind()))];
        ++number;
        for (const CollectivePart &part : instruction.collective().parts())
          bytes += part.count() * getSize(instruction.collective().dtype());
        break;
      }
      case Instruction::kCopy: {
        const Buffer &from = program.buffers(static_cast<int>(instruction.copy().from()));
        const Buffer &to = program.buffers(static_cast<int>(instruction.copy().to()));
        if (from.memory() == to.memory()) {
          ++kinds["copies"];
          break;
        }
        auto &[number, bytes] = collectives[to.memory() == HOST ? "copies to the host" : "copies from the host"];
        ++number;
        bytes += getArrayBytes(to);
        break;
      }
      case Instruction::kWait:
      case Instruction::kCopyWait:
        ++kinds["waits"];
        break;
      case Instruction::kMicroBatch:
        ++kinds["numbers of micro-batches"];
        break;
      default:
        ++kinds["coordinates"];
      }
    }
  for (const auto &[kind, number] : kinds)
    fmt::print("  {} {}{}\n", number, kind, kind == "kernels" ? fmt::format(" ({} different)", symbols.size()) : "");
  for (const auto &[kind, total] : collectives)
    fmt::print("  {} {}, {} of operands\n", total.first, kind, formatBytes(total.second));
}

static void showProgram(const std::string &title, const Program &program, const LoadedPackage &package,
                        const Mesh &mesh) {
  // Several tasks have theirs below.
  std::string flops;
  if (program.tasks_size() < 2)
    flops = fmt::format(", {:.3g} GFLOP", program.tasks().empty() ? 0 : countFlops(program.tasks(0)) / 1e9);
  std::string host =
      program.host_arena_bytes() > 0 ? fmt::format(", {} on the host", formatBytes(program.host_arena_bytes())) : "";
  fmt::print("{}: arena {} ({} persistent){}, {} buffers{}\n", title, formatBytes(program.arena_bytes()),
             formatBytes(program.persistent_bytes()), host, program.buffers_size(), flops);
  showCounts(program);
  showSchedule(program, package, mesh);
}

/// Returns true if some rank keeps a variable in the memory of the host.
static bool isOnHost(const meshwright::Package &message, int variable) {
  for (const Program &program : message.programs())
    if (int32_t buffer = program.variable_buffers(variable); buffer != -1 && program.buffers(buffer).memory() == HOST)
      return true;
  return false;
}

static void showValues(const LoadedPackage &package) {
  const meshwright::Package &message = package.message();
  const Mesh &mesh = package.getMesh();
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
              fmt::format("{}{}", port.result() ? "" : ", fetched", port.at_update() ? ", at updates" : ""));
  }
  fmt::print("{} variables\n", message.variables_size());
  for (int i = 0; i != message.variables_size(); ++i) {
    const Variable &variable = message.variables(i);
    showValue(variable.name(), variable.dtype(), package.getLayouts().variables[i], variable.placement(), mesh,
              ", " + toLower(Variable::Kind_Name(variable.kind())) + (isOnHost(message, i) ? ", on the host" : ""));
  }
}

/// Prints inputs, outputs and the programs of all ranks.
static void showPrograms(const LoadedPackage &package) {
  const meshwright::Package &message = package.message();
  const Mesh &mesh = package.getMesh();
  showValues(package);
  for (int i = 0; i != message.programs_size(); ++i) {
    std::vector<int64_t> ranks;
    for (int rank = 0; rank != message.program_of_rank_size(); ++rank)
      if (message.program_of_rank(rank) == static_cast<uint32_t>(i))
        ranks.push_back(rank);
    showProgram(fmt::format("program {} of ranks {}", i, fmt::join(ranks, ", ")), message.programs(i), package, mesh);
  }
  if (message.has_serial())
    showProgram("serial program", message.serial(), package, Mesh());
}

Status meshwright::tool::show(const LoadedPackage &package) {
  const meshwright::Package &message = package.message();
  const Mesh &mesh = package.getMesh();
  std::vector<std::string> axes;
  for (size_t axis = 0; axis != mesh.getNumAxes(); ++axis)
    axes.push_back(fmt::format("\"{}\"={}", mesh.getName(axis), mesh.getSize(axis)));
  if (!message.producer().empty())
    fmt::print("made by {}\n", message.producer());
  fmt::print("hash {}\n", formatHash(package.getHash()));
  fmt::print("mesh [{}], {} ranks\n", fmt::join(axes, ", "), mesh.getNumRanks());
  if (package.getAccumulationSteps() != 1)
    fmt::print("accumulates {} steps into one update\n", package.getAccumulationSteps());
  showPrograms(package);
  if (const LoadedPackage *evaluation = package.getEvaluation()) {
    uint32_t every = message.evaluate_every();
    fmt::print("\nevaluation{}, in the same arenas\n", every == 0 ? "" : fmt::format(" after every {} steps", every));
    showPrograms(*evaluation);
    fmt::print("\n");
  }
  for (const KernelLibrary &library : message.libraries())
    fmt::print("kernels for {} in {}, hash {}\n", library.target(), library.file(), formatHash(library.hash()));
  return {};
}
