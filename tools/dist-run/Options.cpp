//===- Options.cpp - the command line of dist-run -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One table has every option with its help text and its parser; `--help` prints it. Combinations that exclude each
// other are checked after all options have been read, so that their order does not matter.
//
//===----------------------------------------------------------------------===//

#include "Options.h"
#include "meshwright/runtime/Rendezvous.h"
#include <algorithm>
#include <charconv>
#include <fmt/ranges.h>
#include <functional>
#include <google/protobuf/stubs/common.h>
#include <nlohmann/json.hpp>
#include <oneapi/dnnl/dnnl.h>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::tool;

namespace {

/// An option: its name, what its value is called (empty for a flag; in brackets where it may be left out), its help,
/// and what it does.
struct Option {
  std::string_view group, name, value;
  std::string help;
  std::function<Status(Options &, const std::string &)> apply;
};

Status parseCount(const std::string &text, uint64_t &result) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), result);
  if (error != std::errc() || end != text.data() + text.size() || text.empty())
    return usageError("\"{}\" is no whole number", text);
  return {};
}

auto setText(std::string Options::*member) {
  return [member](Options &options, const std::string &text) -> Status {
    if (text.empty())
      return usageError("a file or name is wanted");
    options.*member = text;
    return {};
  };
}

auto setCount(uint64_t Options::*member, uint64_t minimum) {
  return [member, minimum](Options &options, const std::string &text) -> Status {
    MW_TRY(parseCount(text, options.*member));
    if (options.*member < minimum)
      return usageError("{} is below {}", options.*member, minimum);
    return {};
  };
}

auto setFlag(bool Options::*member) {
  return [member](Options &options, const std::string &) -> Status {
    options.*member = true;
    return {};
  };
}

auto addData(std::vector<DataSource> Options::*member) {
  return [member](Options &options, const std::string &text) -> Status {
    MW_TRY_ASSIGN(DataSource source, DataSource::parse(text));
    (options.*member).push_back(std::move(source));
    return {};
  };
}

Status setEvalEvery(Options &options, const std::string &text) { return parseCount(text, options.evalEvery.emplace()); }

auto setLink(std::optional<LinkModel> Options::*member) {
  return [member](Options &options, const std::string &text) -> Status {
    MW_TRY_ASSIGN(options.*member, LinkModel::parse(text));
    return {};
  };
}

Status setCheck(Options &options, const std::string &text) {
  options.checkSerial = true;
  options.checkApart = text == "apart";
  return text.empty() || options.checkApart ? Status() : setCount(&Options::checkEvery, 1)(options, text);
}

Status setCheckExact(Options &options, const std::string &text) {
  options.checkExact = true;
  return text.empty() ? Status() : setCount(&Options::exactSteps, 1)(options, text);
}

Status addFault(Options &options, const std::string &text) {
  MW_TRY_ASSIGN(InjectedFault fault, InjectedFault::parse(text));
  options.faults.push_back(fault);
  return {};
}

Status setTimeout(Options &options, const std::string &text) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), options.timeout);
  if (error != std::errc() || end != text.data() + text.size() || !(options.timeout > 0 && options.timeout <= 1e6))
    return usageError("\"{}\" is no number of seconds above 0 and up to 1000000", text);
  return {};
}

Status setSelfTest(Options &options, const std::string &text) {
  options.selfTest = true;
  options.selfTestAll = text == "all";
  return text.empty() || text == "all" ? Status() : usageError("\"{}\" is not \"all\"", text);
}

Status setSaveType(Options &options, const std::string &text) {
  MW_TRY_ASSIGN(options.saveType, parseFloatType(text));
  return {};
}

Status setOnNonFinite(Options &options, const std::string &text) {
  options.onNonFinite = text;
  return text == "stop" || text == "warn" || text == "skip" ? Status()
                                                            : usageError("\"{}\" is none of stop, warn and skip", text);
}

Status setDevice(Options &options, const std::string &text) {
  options.device = findDeviceKind(text);
  return options.device ? Status() : usageError("\"{}\" is none of {}", text, joinNames(getDeviceNames()));
}

Status setComm(Options &options, const std::string &text) {
  options.comm = text;
  return findWorldKind(text) || findDeviceKindOfBackend(text)
             ? Status()
             : usageError("there is no backend \"{}\"; there are {}", text, joinNames(getBackendNames()));
}

std::string describeComm() {
  std::vector<std::string> ways;
  for (const WorldKind *kind : getWorldKinds())
    ways.push_back(fmt::format("{}, {}", kind->name, kind->help));
  for (const DeviceKind *kind : getDeviceKinds())
    for (const DeviceBackend &backend : kind->backends)
      ways.push_back(fmt::format("{} (with --device={}), {}", backend.name, kind->name, backend.help));
  return fmt::format("how ranks reach each other ({}): {}", getWorldKinds().front()->name, fmt::join(ways, "; "));
}

std::string describeDevices() {
  std::vector<std::string> kinds;
  for (const DeviceKind *kind : getDeviceKinds())
    kinds.push_back(fmt::format("{}, {}", kind->name, kind->help));
  return fmt::format("what the ranks compute on ({}): {}", getDeviceKinds().front()->name, fmt::join(kinds, "; "));
}

Status setResume(Options &options, const std::string &text) {
  options.resume = true;
  options.resumeFrom = text;
  return {};
}

const std::vector<Option> &getOptions() {
  static const std::vector<Option> options = {
      {"Initial values", "init", "FILE", "safetensors with values of variables; the others get their initializer's",
       setText(&Options::init)},
      {"Initial values", "seed", "N", "seed of the initializers (0)", setCount(&Options::seed, 0)},
      {"Inputs", "feed", "FILE", "safetensors with the inputs of a step; {step} in the path stands for its number",
       setText(&Options::feed)},
      {"Inputs", "data", "NAME=FILE[:TYPE]",
       "cut batches of an input from a file: raw bytes of that type, or .npy or .safetensors; or NAME=step:SEED, a key "
       "of "
       "random numbers: SEED and the batch's number; may be repeated",
       addData(&Options::data)},
      {"Evaluation", "eval-feed", "FILE",
       "as --feed, for the programs that evaluate; {step} is the number of the batch", setText(&Options::evalFeed)},
      {"Evaluation", "eval-data", "NAME=FILE[:TYPE]", "as --data, for the programs that evaluate",
       addData(&Options::evalData)},
      {"Evaluation", "eval-steps", "N", "how many batches an evaluation takes, always the same ones (1)",
       setCount(&Options::evalSteps, 1)},
      {"Evaluation", "eval-every", "N",
       "evaluate after every so many steps, and after the last one (as the package says); 0 evaluates never",
       setEvalEvery},
      {"Running", "steps", "N",
       "how many steps (1), those before a checkpoint included; 0 only makes the initial values",
       setCount(&Options::steps, 0)},
      {"Running", "comm", "NAME", describeComm(), setComm},
      {"Running", "nproc", "N", "start so many processes on this host, a rank each, and wait for them",
       setCount(&Options::nproc, 1)},
      {"Running", "nnodes", "N", "with --nproc: the hosts on which dist-run is started (1)",
       setCount(&Options::nnodes, 1)},
      {"Running", "node-rank", "N", "with --nnodes: which of them this one is, from 0 on",
       setCount(&Options::nodeRank, 0)},
      {"Running", "rendezvous", "HOST:PORT", "with --nnodes: where all find the first process, on host 0",
       setText(&Options::rendezvous)},
      {"Running", "token-file", "FILE",
       "the secret of processes on several hosts, at least 16 bytes, the same on all (the environment's "
       "MESHWRIGHT_TOKEN; one host makes its own)",
       setText(&Options::tokenFile)},
      {"Running", "serial", "", "run the serial program", setFlag(&Options::serial)},
      {"Running", "threads", "N",
       "threads that a rank computes on (OMP_NUM_THREADS, or the cores of the host shared by its ranks)",
       setCount(&Options::threads, 1)},
      {"Running", "kernels", "TARGET", "the kernels to load (the first that this CPU can run, or those for this GPU)",
       setText(&Options::kernels)},
      {"Running", "mixed-kernels", "",
       "let processes on different CPUs compute with different kernels; replicas may differ in their last bits",
       setFlag(&Options::mixedKernels)},
      {"Running", "device", "KIND", describeDevices(), setDevice},
      {"Running", "tf32", "", "on GPUs, round the operands of f32 products to 10 bits of fraction",
       setFlag(&Options::tf32)},
      {"Running", "no-graph", "", "on GPUs, issue every step anew instead of recording it", setFlag(&Options::noGraph)},
      {"Running", "link", "LATENCY,BANDWIDTH",
       "let every collective take at least the time of such a link, as in 20us,2GB/s, and plan the step for it",
       setLink(&Options::link)},
      {"Running", "host-link", "LATENCY,BANDWIDTH",
       "the same for copies between the memories of device and host, in each direction", setLink(&Options::hostLink)},
      {"Running", "machine", "FILE", "plan the step for the machine of that model, which --calibrate makes",
       setText(&Options::machine)},
      {"Checking", "check-serial", "[N|apart]",
       "run the serial program too and compare every element of every variable and output, every N steps (1), each "
       "from the distributed variables; apart: every step, each program from its own variables",
       setCheck},
      {"Checking", "check-exact", "[N]",
       "instead of training, run N steps (those of a gradient accumulation, 2 at least) of the serial and the "
       "distributed programs "
       "in exact arithmetic, and compare every element of every variable and output; wants a package with the target "
       "exact. Variables are random, and so are inputs without --feed or --data",
       setCheckExact},
      {"Checking", "exact-reference", "PACKAGE",
       "with --check-exact: another package whose serial program the distributed programs are compared with",
       setText(&Options::exactReference)},
      {"Checking", "check-replicas", "N",
       "every N steps, compare the variables of which several ranks hold the same part, bit for bit",
       setCount(&Options::checkReplicas, 1)},
      {"Checking", "check-collectives", "",
       "let the ranks of a group compare what they bring to every collective each time, not the first time alone",
       setFlag(&Options::checkCollectives)},
      {"Checking", "check-messages", "",
       "let a checksum travel with all that ranks send each other; slower, and communication overlaps no computation",
       setFlag(&Options::checkMessages)},
      {"Checking", "on-nonfinite", "KIND",
       "where the loss, a gradient or a variable is not finite: stop with status 3, warn and go on, or skip, which "
       "goes on as long as the package leaves out the updates of such steps (warn once, and stop after 10 such steps "
       "in a "
       "row)",
       setOnNonFinite},
      {"Checking", "timeout", "SECONDS", "how long ranks wait for each other while no collective takes place (600)",
       setTimeout},
      {"Checking", "fault", "rank=R,op=N,kind=K",
       "let the N-th collective of rank R go wrong: kill, hang, slow:TIME, drop or corrupt; may be repeated", addFault},
      {"Checking", "self-test", "[all]",
       "instead of running a package, check every collective of this machine element by element and time it: a sample "
       "of less than a minute, or all of it",
       setSelfTest},
      {"Checking", "ranks", "N", "of --self-test, so many ranks (1, 2, 3, 4 and 8; of processes, one each)",
       setCount(&Options::ranks, 1)},
      {"Results", "metrics", "FILE", "a JSON object per step", setText(&Options::metrics)},
      {"Results", "outputs", "FILE", "safetensors with the outputs of the last step, whole",
       setText(&Options::outputs)},
      {"Results", "save", "FILE", "safetensors with all variables after the last step", setText(&Options::save)},
      {"Results", "save-dtype", "TYPE",
       "round the floats of --save to that type (bf16, f16, f32, ...), each once, to nearest even", setSaveType},
      {"Results", "timeline", "FILE", "the planned step as JSON for Perfetto; wants --link or --host-link",
       setText(&Options::timeline)},
      {"Results", "trace", "FILE",
       "the last steps of the run as they went on every rank, as JSON for Perfetto, beside the planned step if there "
       "is "
       "one",
       setText(&Options::trace)},
      {"Results", "profile", "FILE",
       "a table of the time of the last steps by products, kernels, convolutions, copies and collectives, with their "
       "rates, shares of the best rates of this machine and what limits those that are slow; text, or JSON if "
       "FILE ends in .json",
       setText(&Options::profile)},
      {"Results", "calibrate", "FILE",
       "instead of training, measure what the package's kernels, products and collectives take on this machine, and "
       "write its model for --machine",
       setText(&Options::calibrate)},
      {"Results", "trace-steps", "N", "how many steps --trace and --profile take (3)",
       setCount(&Options::tracedSteps, 1)},
      {"Results", "report", "FILE",
       "a page of HTML with curves, memory and conversions of the run, also of one that stops",
       setText(&Options::report)},
      {"Results", "flight-recorder", "FOLDER",
       "where flight-RANK.json goes for every rank of a run that fails: what the rank did last (flight)",
       setText(&Options::flightRecorder)},
      {"Checkpoints", "checkpoint", "FOLDER", "save the state of the run there after the last step",
       setText(&Options::checkpoint)},
      {"Checkpoints", "save-every", "N", "and after every N steps, beside the running ones",
       setCount(&Options::saveEvery, 1)},
      {"Checkpoints", "keep", "N", "keep the last N checkpoints (3)", setCount(&Options::keep, 1)},
      {"Checkpoints", "resume", "[FOLDER]",
       "go on from the newest checkpoint of --checkpoint, if any, or of FOLDER; on any mesh", setResume},
      {"Checkpoints", "resume-intact", "",
       "with --resume: pass over checkpoints that are damaged, and rename those of --checkpoint to damaged-step-N",
       setFlag(&Options::resumeIntact)},
      {"Information", "show", "", "say what is in the package, and stop", setFlag(&Options::show)},
      {"Information", "quiet", "", "no progress and no lines per step", setFlag(&Options::quiet)},
      {"Information", "help", "", "this text", setFlag(&Options::help)},
      {"Information", "version", "", "versions of all parts and the backends that are built in",
       setFlag(&Options::version)},
  };
  return options;
}

const Option *find(std::string_view name) {
  for (const Option &option : getOptions())
    if (option.name == name)
      return &option;
  return nullptr;
}

/// True if the backend uses processes that meet at a rendezvous, be it to carry the ranks' messages or to connect
/// devices that carry them.
bool canLaunch(const Options &options) {
  const DeviceBackend *backend = options.comm.empty() ? nullptr : options.device->findBackend(options.comm);
  return options.comm.empty() || (backend ? !backend->sharesDevice : options.getWorldKind().meetsAtRendezvous);
}

Status checkProcesses(const Options &options) {
  if (options.nproc == 0 && (options.nnodes != 1 || options.nodeRank != 0 || !options.rendezvous.empty()))
    return usageError("--nnodes, --node-rank and --rendezvous want --nproc=N, the processes of each host");
  if (options.nproc != 0 && !canLaunch(options))
    return usageError("--nproc starts processes that reach each other over connections, not by --comm={}",
                      options.comm);
  if (!options.tokenFile.empty() && options.nproc == 0 && !options.getWorldKind().meetsAtRendezvous)
    return usageError(
        "--token-file is the secret of processes that reach each other over connections, which --nproc or "
        "--comm=tcp makes");
  if (options.nproc > 65536 || options.nnodes > 65536 / std::max<uint64_t>(options.nproc, 1))
    return usageError("{} processes on each of {} hosts are above 65536", options.nproc, options.nnodes);
  if (options.nodeRank >= options.nnodes)
    return usageError("--node-rank={} is not below --nnodes={}", options.nodeRank, options.nnodes);
  if (options.nnodes != 1 && options.rendezvous.empty())
    return usageError("--nnodes={} wants --rendezvous=HOST:PORT, where host 0 is found", options.nnodes);
  return options.rendezvous.empty() ? Status() : processes::HostAndPort::parse(options.rendezvous).status();
}

/// The kinds of devices that have a property, for messages.
std::string nameDevices(bool DeviceKind::*property) {
  std::vector<std::string_view> names;
  for (const DeviceKind *kind : getDeviceKinds())
    if (kind->*property)
      names.push_back(kind->name);
  return fmt::format("{}", fmt::join(names, " or --device="));
}

Status checkDevice(const Options &options) {
  const DeviceKind *kind = findDeviceKindOfBackend(options.comm);
  if (kind && kind != options.device)
    return usageError("--comm={} wants --device={}", options.comm, kind->name);
  if (options.tf32 && !options.device->hasTf32)
    return usageError("--tf32 wants --device={}", nameDevices(&DeviceKind::hasTf32));
  if (options.noGraph && !options.device->recordsSteps)
    return usageError("--no-graph wants --device={}", nameDevices(&DeviceKind::recordsSteps));
  return {};
}

/// Faults, links and checks of messages are the host's.
Status checkFaultsOnDevices(const Options &options) {
  bool corrupts = std::any_of(options.faults.begin(), options.faults.end(),
                              [](const InjectedFault &fault) { return fault.kind == InjectedFault::Kind::Corrupt; });
  if (options.checkMessages || corrupts)
    return usageError("{} reads what ranks send on the host, but --device={} keeps it on devices",
                      corrupts ? "--fault of kind corrupt" : "--check-messages", options.device->name);
  const DeviceBackend *backend = options.getDeviceBackend();
  bool isRecorded = options.device->recordsSteps && !options.noGraph && !(backend && backend->sharesDevice);
  if (!options.faults.empty() && isRecorded)
    return usageError("--fault counts what the host issues, and a recorded step issues nothing; --no-graph would do");
  return {};
}

Status checkSelfTest(const Options &options) {
  if (options.selfTest && !options.package.empty())
    return usageError("--self-test checks this machine and runs no package, but {} is given", options.package);
  if (options.ranks != 0 && !options.selfTest)
    return usageError("--ranks={} is of --self-test; a package has its own number of ranks", options.ranks);
  if (options.ranks > 1024)
    return usageError("--ranks={} is above 1024", options.ranks);
  return {};
}

/// The exact check makes neither steps of a run nor results.
Status checkExactCheck(const Options &options) {
  if (!options.exactReference.empty() && !options.checkExact)
    return usageError("--exact-reference={} is the package that --check-exact compares with", options.exactReference);
  const std::pair<const char *, const std::string *> results[] = {
      {"init", &options.init},      {"metrics", &options.metrics},     {"outputs", &options.outputs},
      {"save", &options.save},      {"timeline", &options.timeline},   {"trace", &options.trace},
      {"report", &options.report},  {"calibrate", &options.calibrate}, {"checkpoint", &options.checkpoint},
      {"profile", &options.profile}};
  for (auto [name, value] : results)
    if (options.checkExact && !value->empty())
      return usageError("--check-exact trains nothing, so there is nothing for --{}={}", name, *value);
  return {};
}

Status checkMachine(const Options &options) {
  bool hasLinks = options.link || options.hostLink;
  if (!options.machine.empty() && hasLinks)
    return usageError("--machine plans with the links that were measured, and --{} delays what ranks send: one of the "
                      "two",
                      options.link ? "link" : "host-link");
  if (!options.machine.empty() && options.serial)
    return usageError("--machine plans the step of the distributed programs, but --serial runs another");
  if (!options.calibrate.empty() && (hasLinks || !options.machine.empty()))
    return usageError("--calibrate measures the machine as it is; neither --machine nor a link goes with it");
  if (!options.calibrate.empty() && options.steps == 0)
    return usageError("--calibrate measures steps, but --steps=0 runs none");
  return {};
}

Status checkCombination(const Options &options) {
  if (options.help || options.version)
    return {};
  MW_TRY(checkProcesses(options));
  MW_TRY(checkDevice(options));
  MW_TRY(checkSelfTest(options));
  if (options.selfTest)
    return {};
  if (options.package.empty())
    return usageError("which package? (dist-run --help says more)");
  MW_TRY(checkExactCheck(options));
  if (options.serial && options.checkSerial)
    return usageError("--serial runs the serial program alone, --check-serial beside the others: one of the two");
  if (options.serial && options.link)
    return usageError("--link is between ranks, but --serial runs one");
  if (options.serial && (!options.faults.empty() || options.checkMessages))
    return usageError("{} is of what ranks send each other, but --serial runs one",
                      options.faults.empty() ? "--check-messages" : "--fault");
  if (options.serial && options.hostLink)
    return usageError("--host-link is for what is offloaded, and nothing of the serial program is");
  if (!options.device->computesOnHost && (options.link || options.hostLink))
    return usageError("a link is modelled between ranks on CPUs; --device={} has real ones", options.device->name);
  if (!options.device->computesOnHost)
    MW_TRY(checkFaultsOnDevices(options));
  int standardInputs = (options.init == "-") + (options.feed == "-") + (options.evalFeed == "-");
  for (const std::vector<DataSource> *sources : {&options.data, &options.evalData})
    for (const DataSource &source : *sources)
      standardInputs += source.path == "-";
  if (standardInputs > 1)
    return usageError("{} files are standard input where one can be", standardInputs);
  if (options.tracesSteps() && options.steps == 0)
    return usageError("--{} shows steps of the run, but --steps=0 runs none",
                      options.trace.empty() ? "profile" : "trace");
  MW_TRY(checkMachine(options));
  bool plans = options.link || options.hostLink || !options.machine.empty();
  if (!options.timeline.empty() && (!plans || options.steps == 0))
    return usageError("--timeline shows a step that is planned for a link or a machine; {}",
                      plans ? "--steps=0 runs none" : "--link=20us,2GB/s would give one");
  const std::string *outputs[] = {&options.metrics, &options.outputs, &options.save,      &options.timeline,
                                  &options.trace,   &options.report,  &options.calibrate, &options.profile};
  for (size_t i = 0; i != std::size(outputs); ++i)
    for (size_t j = 0; j != i; ++j)
      if (!outputs[i]->empty() && *outputs[i] == *outputs[j])
        return usageError("two results are to be written to {}", *outputs[i]);
  if (options.saveType && options.save.empty())
    return usageError("--save-dtype={} wants --save=FILE; checkpoints keep all bits, and dist-ckpt export --dtype "
                      "rounds them",
                      getName(*options.saveType));
  if (options.checkpoint.empty() && options.saveEvery != 0)
    return usageError("--save-every={} wants --checkpoint=FOLDER", options.saveEvery);
  if (options.checkpoint.empty() && options.resume && options.resumeFrom.empty())
    return usageError("--resume wants --checkpoint=FOLDER, or a folder of its own");
  if (options.resumeIntact && !options.resume)
    return usageError("--resume-intact says how --resume finds its checkpoint, but there is no --resume");
  if (options.threads > 1024)
    return usageError("--threads={} is above 1024", options.threads);
  return {};
}

} // namespace

const WorldKind &Options::getWorldKind() const {
  const WorldKind *kind = findWorldKind(comm);
  return kind ? *kind : *getWorldKinds().front();
}

const DeviceBackend *Options::getDeviceBackend() const {
  const DeviceBackend *backend = device->findBackend(comm);
  return backend ? backend : device->findBackend("");
}

PlatformOptions Options::getPlatformOptions() const {
  PlatformOptions wanted;
  wanted.target = kernels;
  if (const DeviceBackend *backend = getDeviceBackend())
    wanted.backend = backend->name;
  wanted.threads = static_cast<int>(threads);
  wanted.hostLink = hostLink;
  wanted.allowTf32 = tf32;
  wanted.recordsSteps = !noGraph;
  wanted.timeoutSeconds = timeout;
  return wanted;
}

Result<Options> meshwright::tool::parseOptions(int argc, const char *const *argv) {
  Options options;
  options.command = "dist-run";
  for (int i = 1; i < argc; ++i)
    options.command += fmt::format(" {}", argv[i]);
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    if (!argument.starts_with("-")) {
      if (!options.package.empty())
        return usageError("two packages are given, {} and {}", options.package, argument);
      options.package = argument;
      continue;
    }
    argument.erase(0, argument.starts_with("--") ? 2 : 1);
    size_t equals = argument.find('=');
    std::string name = argument.substr(0, equals);
    const Option *option = find(name);
    if (!option)
      return usageError("there is no option --{} (dist-run --help lists them)", name);
    std::string value;
    if (equals != std::string::npos) {
      if (option->value.empty())
        return usageError("--{} takes no value", name);
      value = argument.substr(equals + 1);
    } else if (!option->value.empty() && option->value[0] != '[') {
      if (++i == argc)
        return usageError("--{} wants {}", name, option->value);
      value = argv[i];
    }
    MW_TRY(option->apply(options, value).within("--" + name));
  }
  MW_TRY(checkCombination(options));
  return options;
}

std::string meshwright::tool::getHelp() {
  std::string text =
      "usage: dist-run PACKAGE [options]\n\nRuns a package that dist-opt made. - is standard input or output "
      "where a file is.\n";
  std::string_view group;
  for (const Option &option : getOptions()) {
    if (option.group != group)
      text += fmt::format("\n{}:\n", group = option.group);
    std::string left = fmt::format("--{}", option.name);
    if (option.value.starts_with("["))
      left += fmt::format("[={}]", option.value.substr(1, option.value.size() - 2));
    else if (!option.value.empty())
      left += fmt::format("={}", option.value);
    text += fmt::format("  {:<26} {}\n", left, option.help);
  }
  return text +
         "\nExit status: 0 done; 1 the input is at fault; 2 wrong usage; 3 a check failed; 4 a fault while running.\n";
}

std::string meshwright::tool::getVersions() {
  const dnnl_version_t *library = dnnl_version();
  return fmt::format("dist-run {}\nprotobuf {}\nfmt {}.{}.{}\nnlohmann-json {}.{}.{}\noneDNN {}.{}.{}\nbackends: {}\n"
                     "devices: {}\n",
                     MESHWRIGHT_VERSION, google::protobuf::internal::VersionString(GOOGLE_PROTOBUF_VERSION),
                     FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100, NLOHMANN_JSON_VERSION_MAJOR,
                     NLOHMANN_JSON_VERSION_MINOR, NLOHMANN_JSON_VERSION_PATCH, library->major, library->minor,
                     library->patch, fmt::join(listBackends(), ", "), fmt::join(listDevices(), ", "));
}
