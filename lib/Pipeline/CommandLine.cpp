//===- CommandLine.cpp - options of a whole compilation -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The options are a table, from which `--help` is printed. LLVM's option parser serves single passes only, because it
// ends the process by itself.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Pipeline/CommandLine.h"
#include "Version.h"
#include "meshwright/Export/Export.h"
#include "meshwright/Strategy/Strategy.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/raw_ostream.h"
#include <functional>

using namespace meshwright;
using llvm::StringRef;

namespace {

/// One option: `--name` or `--name=value`.
struct Flag {
  const char *group;
  const char *name;
  /// Placeholder of the value in `--help`; empty for a switch.
  const char *value;
  const char *help;
  /// Stores the value; false if it makes no sense.
  std::function<bool(CompileOptions &, StringRef)> store;
};

template <typename T> bool parseInteger(StringRef text, T &number) {
  return !text.getAsInteger(10, number) && number >= 0;
}

bool storeStage(Stage &stage, StringRef text) {
  std::optional<Stage> parsed = parseStage(text);
  if (parsed)
    stage = *parsed;
  return parsed.has_value();
}

const std::vector<Flag> &getFlags() {
  using Options = CompileOptions;
  static const std::vector<Flag> flags = {
      {"Compilation", "strategy", "FILE", "the strategy; --print-strategy prints a template",
       [](Options &o, StringRef v) { return o.strategy = v.str(), !v.empty(); }},
      {"Compilation", "emit", "FOLDER", "write a package for dist-run there",
       [](Options &o, StringRef v) { return o.emit = v.str(), !v.empty(); }},
      {"Compilation", "emit-stablehlo", "FILE", "write the partitioned step as a StableHLO module for JAX there; of a pipeline, a folder of modules",
       [](Options &o, StringRef v) { return o.emitStableHLO = v.str(), !v.empty(); }},
      {"Compilation", "stablehlo-form", "manual|replicas",
       "the ranks of that module: partitions of whole arrays (manual, default), or replicas with arrays of their own",
       [](Options &o, StringRef v) { return (o.stablehlo = exporter::parseModuleForm(v)).has_value(); }},
      {"Compilation", "eval", "FILE",
       "the evaluation graph, over the same variables; default: with eval in the strategy, the forward part of the "
       "input",
       [](Options &o, StringRef v) { return o.eval = v.str(), !v.empty(); }},
      {"Compilation", "ranks", "N", "number of ranks, for an axis of size 0",
       [](Options &o, StringRef v) { return parseInteger(v, o.ranks) && o.ranks > 0; }},
      {"Compilation", "from", "STAGE",
       "the input has passed the stages before this one: import, train, annotate, complete, partition, optimize, "
       "schedule, emit",
       [](Options &o, StringRef v) { return storeStage(o.from, v); }},
      {"Compilation", "to", "STAGE", "stop after this stage and print the module",
       [](Options &o, StringRef v) { return storeStage(o.to, v); }},
      {"Compilation", "o", "FILE", "file to print the module to; default: -",
       [](Options &o, StringRef v) { return o.output = v.str(), !v.empty(); }},
      {"Programs of others", "partitioned", "FILE",
       "a program for one rank that another tool made of the input: a graph with shard_map in it, or StableHLO with "
       "collectives; the package holds it and the input as its serial program, for dist-run --check-exact",
       [](Options &o, StringRef v) { return o.partitioned = v.str(), !v.empty(); }},
      {"Programs of others", "mesh", "AXIS=N,…", "its mesh, the slowest axis first; default: the mesh that it names",
       [](Options &o, StringRef v) { return o.mesh = v.str(), !v.empty(); }},
      {"Programs of others", "place", "NAME=DIMS",
       "the placement of its argument or result NAME, as w=[-,tp]; default: its own sharding; may be repeated",
       [](Options &o, StringRef v) {
         // A name may have `=` in it, dimensions have none.
         auto [name, dims] = v.rsplit('=');
         o.places.emplace_back(name.str(), dims.str());
         return !name.empty() && !dims.empty();
       }},
      {"Optimize", "no-optimize", "", "skip the passes of Optimize: the program gets slower, but stays correct",
       [](Options &o, StringRef) { return o.optimize = false, true; }},
      {"Emit", "target", "NAME",
       "processor to compile kernels for: x86-64-v3 (default), native, a GPU like sm_90; exact, for dist-run "
       "--check-exact; twin, the serial program in f64, from which --check-serial measures; may be repeated",
       [](Options &o, StringRef v) { return o.targets.push_back(v.str()), !v.empty(); }},
      {"Emit", "gpu-report", "FILE",
       "write the launches, registers and spills of GPU kernels, and the epilogues of GEMMs, as JSON",
       [](Options &o, StringRef v) { return o.gpuReport = v.str(), !v.empty(); }},
      {"Emit", "kernel-cache", "FOLDER",
       "take kernels that were compiled before from there, and add new ones; default: $MESHWRIGHT_KERNEL_CACHE, else "
       "none",
       [](Options &o, StringRef v) { return o.kernelCache = v.str(), true; }},
      {"Emit", "no-serial", "", "leave the serial program out of the package; dist-run cannot check against it then",
       [](Options &o, StringRef) { return o.serial = false, true; }},
      {"Inspection", "plan", "FILE", "write the plan as JSON",
       [](Options &o, StringRef v) { return o.plan = v.str(), !v.empty(); }},
      {"Inspection", "explain", "FILE", "write the plan as text: every conversion, its bytes and why it is there",
       [](Options &o, StringRef v) { return o.explain = v.str(), !v.empty(); }},
      {"Inspection", "rank", "N", "print the program of this rank",
       [](Options &o, StringRef v) { return parseInteger(v, o.rank.emplace()); }},
      {"Inspection", "coordinate", "AXIS=N,…", "the same by coordinates; axes not named are at 0",
       [](Options &o, StringRef v) { return o.coordinate = v.str(), !v.empty(); }},
      {"Inspection", "print", "brief",
       "print modules for reading: of the attributes between stages only names and placements",
       [](Options &o, StringRef v) { return o.printBrief = true, v == "brief"; }},
      {"Inspection", "mlir-print-debuginfo", "", "print locations with the module",
       [](Options &o, StringRef) { return o.printLocations = true, true; }},
      {"Inspection", "timing", "", "print how long each stage took",
       [](Options &o, StringRef) { return o.timing = true, true; }},
      {"Inspection", "quiet", "", "no progress", [](Options &o, StringRef) { return o.quiet = true, true; }},
  };
  return flags;
}

/// Switches that print something and end.
constexpr StringRef kPrinting[] = {"help", "version", "print-strategy"};

void printHelp() {
  llvm::raw_ostream &out = llvm::outs();
  out << "dist-opt: compiles a serial training network into distributed rank programs\n\n"
         "  dist-opt model.mlir --strategy=s.textproto --emit=out/    the whole way: a package for dist-run\n"
         "  dist-opt model.mlir --strategy=s.textproto                the whole way to Schedule, module on standard "
         "output\n"
         "  dist-opt model.mlir --strategy=s.textproto --rank=3       the program of one rank\n"
         "  dist-opt test.mlir --dist-complete-propagate              any pass, any option of mlir-opt\n\n"
         "model.mlir is StableHLO text, or `-` for standard input. A package is made by --emit; dist-run executes "
         "it.\n";
  StringRef group;
  for (const Flag &flag : getFlags()) {
    if (group != flag.group)
      out << "\n" << (group = flag.group) << ":\n";
    bool isShort = StringRef(flag.name).size() == 1;
    std::string left = std::string(isShort ? "  -" : "  --") + flag.name;
    if (*flag.value)
      left += std::string(isShort ? " " : "=") + flag.value;
    out << left;
    out.indent(left.size() < 26 ? 26 - left.size() : 1) << flag.help << "\n";
  }
  out << "\nOther:\n"
         "  --print-strategy        a strategy with every field and its comment\n"
         "  --version               versions of all parts\n"
         "  --help                  this page\n"
         "\nExit codes: 0 done; 1 the input is at fault; 2 wrong usage.\n\nPasses:\n";
  out.flush();
  mlir::printRegisteredPasses();
}

/// Finds the flag that `argument` names, and its value.
const Flag *findFlag(StringRef argument, StringRef &value, bool &hasValue) {
  StringRef name = argument.drop_front(argument.starts_with("--") ? 2 : 1);
  hasValue = name.contains('=');
  std::tie(name, value) = name.split('=');
  for (const Flag &flag : getFlags())
    if (name == flag.name)
      return &flag;
  return nullptr;
}

int usageError(const llvm::Twine &message) {
  llvm::errs() << "dist-opt: " << message << "; --help lists what there is\n";
  return ExitUsage;
}

} // namespace

bool meshwright::isCompileCommand(int argc, char **argv) {
  if (argc == 1)
    return true;
  for (StringRef argument : llvm::ArrayRef(argv + 1, argc - 1)) {
    StringRef value;
    bool hasValue;
    if (!argument.starts_with("-") || argument == "-")
      continue;
    const Flag *flag = findFlag(argument, value, hasValue);
    // Switches that mlir-opt has too do not decide.
    if (flag && StringRef(flag->name) != "o" && StringRef(flag->name) != "mlir-print-debuginfo")
      return true;
    if (llvm::is_contained(kPrinting, argument.ltrim('-')) || argument == "-h")
      return true;
  }
  return false;
}

int meshwright::runCompileCommand(int argc, char **argv, const mlir::DialectRegistry &registry) {
  CompileOptions options;
  if (const char *folder = std::getenv("MESHWRIGHT_KERNEL_CACHE"))
    options.kernelCache = folder;
  bool hasInput = false;
  if (argc == 1)
    return usageError("there is no input");
  for (int index = 1; index < argc; ++index) {
    StringRef argument = argv[index];
    if (!argument.starts_with("-") || argument == "-") {
      if (hasInput)
        return usageError("there are two inputs, " + options.input + " and " + argument);
      options.input = argument.str();
      hasInput = true;
      continue;
    }
    if (argument == "--help" || argument == "-h")
      return printHelp(), ExitDone;
    if (argument == "--version")
      return printVersion(llvm::outs()), ExitDone;
    if (argument == "--print-strategy")
      return llvm::outs() << strategy::getTemplate(), ExitDone;
    StringRef value;
    bool hasValue;
    const Flag *flag = findFlag(argument, value, hasValue);
    if (!flag)
      return usageError("there is no option " + argument);
    if (*flag->value && !hasValue) {
      if (++index == argc)
        return usageError("option " + argument + " lacks its value");
      value = argv[index];
    } else if (!*flag->value && hasValue) {
      return usageError("option " + argument + " takes no value");
    }
    if (!flag->store(options, value))
      return usageError("option --" + llvm::Twine(flag->name) + " has value \"" + value + "\" but takes " +
                        flag->value);
  }
  if (!options.emit.empty())
    options.to = Stage::Emit;
  if (options.to == Stage::Emit && options.emit.empty())
    return usageError("--to=emit needs --emit");
  if (!(options.plan.empty() && options.explain.empty()) && options.to < Stage::Partition)
    return usageError("--plan and --explain need conversions, which there are from partition on");
  if (options.stablehlo && options.emitStableHLO.empty())
    return usageError("--stablehlo-form is of a module that --emit-stablehlo writes");
  if (!options.emitStableHLO.empty() && !options.stablehlo)
    options.stablehlo = exporter::ModuleForm::Manual;
  if (options.stablehlo && !options.runs(Stage::Optimize))
    return usageError("--emit-stablehlo writes the step after optimize, but the stages are --from=" +
                      stringifyStage(options.from) + " --to=" + stringifyStage(options.to));
  if (options.from > options.to)
    return usageError("--from=" + stringifyStage(options.from) + " comes after --to=" + stringifyStage(options.to));
  if (options.partitioned.empty() && !(options.mesh.empty() && options.places.empty()))
    return usageError(
        "--mesh and --place are of the program that --partitioned names; a strategy has a mesh of its own");
  if (!options.partitioned.empty() && !(options.strategy.empty() && options.eval.empty() && options.plan.empty() &&
                                        options.explain.empty() && options.from == Stage::Import && options.serial))
    return usageError(
        "--partitioned takes no strategy, evaluation graph, plan, first stage or package without serial program");
  if (!options.eval.empty() && options.from != Stage::Import)
    return usageError("--eval goes through import, but --from=" + stringifyStage(options.from) + " leaves it out");
  return compile(options, registry);
}
