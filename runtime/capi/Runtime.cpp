//===- Runtime.cpp - the runtime from C -----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every function turns errors, and what the standard library throws, into a diagnostic for the callback. Sessions hold
// their package and packages their runtime, so that they may be destroyed in any order.
//
//===----------------------------------------------------------------------===//

#include "meshwright-c/Runtime.h"
#include "meshwright/runtime/Catalog.h"
#include "meshwright/runtime/CheckpointWriter.h"
#include "meshwright/runtime/Feeder.h"
#include "meshwright/runtime/PlacementText.h"
#include "meshwright/runtime/WriteValues.h"
#include <algorithm>
#include <array>

using namespace meshwright;
using namespace meshwright::runtime;

// Types and kinds of errors have the numbers of the package's schema and of the runtime.
static_assert(static_cast<int>(MwElementTypeF8E3M4) == F8E3M4 && static_cast<int>(MwElementTypeI1) == I1);
static_assert(static_cast<int>(MwStatusFault) == static_cast<int>(Code::Fault));

static std::string_view fromC(MwString text) { return {text.data, text.length}; }
static MwString toC(std::string_view text) { return {text.data(), text.size()}; }

namespace {

/// The callback of a runtime.
struct Reporter {
  MwDiagnosticCallback callback;
  void *userData;

  /// A message that names the path of `file` has its place there; at its beginning the path goes.
  void report(MwSeverity severity, std::string_view message, std::string_view file = {}) const {
    std::string_view place;
    if (!file.empty() && message.find(file) != std::string_view::npos)
      place = file;
    if (!place.empty() && message.starts_with(file) && message.substr(file.size()).starts_with(": "))
      message.remove_prefix(file.size() + 2);
    if (callback)
      callback(severity, toC(message), toC(place), 0, 0, userData);
  }
};

/// A value as a package describes it.
struct Value {
  std::string placement, kind;
  MwValueInfo info = {};
};

struct OpenPackage {
  Reporter reporter;
  /// The package, or programs of another one that evaluate.
  std::shared_ptr<const LoadedPackage> package;
  bool isEvaluation = false;
  /// By kind.
  std::array<std::vector<Value>, 3> values;
};

struct OpenSession {
  std::shared_ptr<OpenPackage> package;
  /// The session in whose memory this one evaluates, on the variables there; null for one that has its own.
  std::shared_ptr<OpenSession> trained;
  std::unique_ptr<Session> session;
  /// True while the variables have values, and while outputs have those of a step.
  bool hasValues = false, hasOutputs = false;
  bool hasFailed = false;
  /// The number of steps, and of values given to variables, in the memory of a session that has its own, by any
  /// session.
  uint64_t changes = 0;
  /// That number when this session had done its last step.
  uint64_t lastChange = 0;
  uint64_t steps = 0, seed = 0;

  /// The session that has the memory and the variables.
  OpenSession &getOwner() { return trained ? *trained : *this; }
  const OpenSession &getOwner() const { return trained ? *trained : *this; }
  /// True if no other session has done a step since the last one of this session.
  bool isInMemory() const { return lastChange == getOwner().changes; }
  /// Notes that variables were given values, which leaves the outputs of this session as they are.
  void noteGiven() { lastChange += isInMemory() ? 1 : 0, ++changes; }

  const ValueSet &getSet(MwValueKind kind) const {
    return kind == MwValueInput    ? session->getInputs()
           : kind == MwValueOutput ? session->getOutputs()
                                   : session->getVariables();
  }
};

Reporter &unwrap(MwRuntime runtime) { return *static_cast<Reporter *>(runtime.pointer); }
std::shared_ptr<OpenPackage> &unwrap(MwPackage package) {
  return *static_cast<std::shared_ptr<OpenPackage> *>(package.pointer);
}
std::shared_ptr<OpenSession> &share(MwSession session) {
  return *static_cast<std::shared_ptr<OpenSession> *>(session.pointer);
}
OpenSession &unwrap(MwSession session) { return *share(session); }

/// Calls `work`, and reports its error, or what it throws. `file` is the one that the call is about.
template <typename Fn> MwStatus guard(const Reporter &reporter, std::string_view file, Fn &&work) {
  Status status;
  try {
    status = work();
  } catch (const std::exception &exception) {
    status = faultError("{}", exception.what());
  }
  if (!status.ok())
    reporter.report(MwSeverityError, status.message(), file);
  return static_cast<MwStatus>(status.code());
}

template <typename Message>
void addValues(std::vector<Value> &values, const Message &messages, const std::vector<Layout> &layouts,
               const Mesh &mesh) {
  for (int i = 0; i != messages.size(); ++i) {
    const auto &message = messages[i];
    const Layout &layout = layouts[static_cast<size_t>(i)];
    Value &value = values.emplace_back();
    value.placement = toString(message.placement(), layout.getShape(), mesh);
    value.info.name = toC(message.name());
    value.info.type = static_cast<MwElementType>(message.dtype());
    value.info.shape = layout.getShape().data();
    value.info.numDims = layout.getShape().size();
    value.info.bytes = *getNumElements(layout.getShape()) * getSize(message.dtype());
    value.info.batchDim = -1;
    if constexpr (requires { message.kind(); }) {
      value.kind = toLower(Variable::Kind_Name(message.kind()));
      value.info.location = toC(message.location());
      value.info.hasInitializer = message.has_init();
    } else {
      value.info.isResult = message.result();
      value.info.isOfUpdate = message.at_update();
      value.info.batchDim = message.batch_dim();
    }
  }
}

void describeValues(OpenPackage &open) {
  const meshwright::Package &message = open.package->message();
  const ProgramLayouts &layouts = open.package->getLayouts();
  const Mesh &mesh = open.package->getMesh();
  addValues(open.values[MwValueInput], message.inputs(), layouts.inputs, mesh);
  addValues(open.values[MwValueOutput], message.outputs(), layouts.outputs, mesh);
  addValues(open.values[MwValueVariable], message.variables(), layouts.variables, mesh);
  // Once the texts stay where they are.
  for (std::vector<Value> &values : open.values)
    for (Value &value : values) {
      value.info.placement = toC(value.placement);
      value.info.variableKind = toC(value.kind);
    }
}

std::shared_ptr<OpenPackage> makePackage(const Reporter &reporter, std::shared_ptr<const LoadedPackage> package) {
  auto open = std::make_shared<OpenPackage>(OpenPackage{reporter, std::move(package), false, {}});
  describeValues(*open);
  return open;
}

bool isKind(MwValueKind kind) { return kind >= MwValueInput && kind <= MwValueVariable; }

/// The array as a view; an error where its type is none or its sizes cannot be counted.
Result<TensorView> toView(const MwArray &array, const std::string &where) {
  DType type = static_cast<DType>(array.type);
  Shape shape(array.shape, array.shape + array.numDims);
  std::optional<uint64_t> count = getNumElements(shape);
  if (getSize(type) == 0 || type == RESIDUE || !count)
    return usageError("{} has type {} and shape {}, which no array has", where, static_cast<int>(array.type),
                      toString(shape));
  return TensorView{type, std::move(shape), {static_cast<const std::byte *>(array.data), *count * getSize(type)}};
}

/// The backend of a step that failed takes no other one.
Status checkHealth(const OpenSession &open) {
  if (open.trained && open.hasFailed)
    return usageError("an evaluation of the session has failed; another session can evaluate");
  return open.getOwner().hasFailed ? usageError("a step of the session has failed; another session can go on from "
                                                "initial values or a checkpoint")
                                   : Status();
}

/// Checks that the session is no other one's evaluation.
Status checkOwner(const OpenSession &open) {
  return open.trained ? usageError("the session evaluates; its variables are those of the session that trains")
                      : Status();
}

Status checkValues(const OpenSession &open) {
  MW_TRY(checkHealth(open));
  return open.getOwner().hasValues
             ? Status()
             : usageError("the variables have no values; they get some by initial values or a checkpoint");
}

/// Checks that there is such a value, and that it is known now.
Status checkValue(const OpenSession &open, MwValueKind kind, size_t index) {
  if ((kind != MwValueOutput && kind != MwValueVariable) || index >= open.getSet(kind).size())
    return usageError("there is no output or variable of number {}", index);
  MW_TRY(checkValues(open));
  const std::string &name = open.getSet(kind).getName(index);
  if (kind == MwValueVariable)
    return open.session->isIdle(index) ? usageError("accumulator \"{}\" has no value between accumulations", name)
                                       : Status();
  if (!open.hasOutputs)
    return usageError("output \"{}\" is not known before the first step", name);
  if (!open.isInMemory())
    return usageError("output \"{}\" is no longer known after {}", name,
                      open.trained ? "a step of the session that trains" : "an evaluation");
  if (!open.session->isKnown(index))
    return usageError("output \"{}\" is known after the last of {} steps of an accumulation, but {} were done", name,
                      open.package->package->getAccumulationSteps(), open.session->getAccumulationPosition());
  return {};
}

Result<SessionOptions> translate(const MwSessionOptions &given) {
  SessionOptions options;
  options.serial = given.isSerial;
  std::string_view device = fromC(given.device);
  options.device = device.empty() ? getDeviceKinds().front() : findDeviceKind(device);
  if (!options.device)
    return usageError("there is no device \"{}\"; there are {}", device, joinNames(getDeviceNames()));
  if (given.threads < 0 || given.threads > 1024)
    return usageError("a rank cannot compute on {} threads, but on 0 to 1024", given.threads);
  if (!(given.timeoutSeconds >= 0))
    return usageError("a timeout of {} s is below 0", given.timeoutSeconds);
  options.platform.threads = given.threads;
  options.platform.target = fromC(given.target);
  if (given.timeoutSeconds > 0)
    options.timeoutSeconds = given.timeoutSeconds;
  return options;
}

Status initialize(OpenSession &open, const std::string &path, std::span<const MwArray> arrays, uint64_t seed) {
  MW_TRY(checkOwner(open));
  MW_TRY(checkHealth(open));
  std::optional<SafeTensors> file;
  std::map<std::string, TensorView> tensors;
  if (!path.empty()) {
    MW_TRY_ASSIGN(file, SafeTensors::open(path));
    tensors = file->tensors();
  }
  for (const MwArray &array : arrays) {
    std::string name(fromC(array.name));
    MW_TRY_ASSIGN(tensors[name], toView(array, fmt::format("initial value \"{}\"", name)));
  }
  open.hasValues = open.hasOutputs = false;
  std::string origin = !path.empty() ? path : arrays.empty() ? "" : "the initial values";
  MW_TRY_ASSIGN(InitialReport report, open.session->initialize(tensors, origin, seed));
  open.hasValues = true;
  open.noteGiven();
  open.steps = 0;
  open.seed = seed;
  for (const std::string &name : report.notInPackage)
    open.package->reporter.report(
        MwSeverityWarning, fmt::format("{} has \"{}\", which no variable of the package is called", origin, name));
  return {};
}

Status step(OpenSession &open, std::span<const MwArray> feeds) {
  MW_TRY(checkValues(open));
  Session &session = *open.session;
  const ValueSet &inputs = session.getInputs();
  std::vector<const MwArray *> given(inputs.size());
  for (const MwArray &array : feeds) {
    std::string name(fromC(array.name));
    std::optional<size_t> index = inputs.find(name);
    if (!index)
      return usageError("no input of the package is called \"{}\"{}", name,
                        inputs.size() == 0 ? "" : fmt::format("; the first is \"{}\"", inputs.getName(0)));
    if (given[*index])
      return usageError("the input \"{}\" is fed twice", name);
    given[*index] = &array;
  }
  for (size_t i = 0; i != given.size(); ++i)
    if (!given[i])
      return usageError("the input \"{}\" of {} is not fed", inputs.getName(i),
                        toString(inputs.getShape(i), inputs.getType(i)));
  for (size_t i = 0; i != given.size(); ++i) {
    MW_TRY_ASSIGN(TensorView view, toView(*given[i], fmt::format("input \"{}\"", inputs.getName(i))));
    MW_TRY(feed(session, i, view));
  }
  // Constants of an evaluation are where the other session computes.
  if (open.trained && !open.isInMemory())
    MW_TRY(session.resume());
  open.hasFailed = true;
  open.lastChange = ++open.getOwner().changes;
  MW_TRY(session.step().within(fmt::format("{} {}", open.trained ? "evaluation" : "step", open.steps)));
  MW_TRY(session.synchronize());
  open.hasFailed = false;
  open.hasOutputs = true;
  ++open.steps;
  return {};
}

Status setVariable(OpenSession &open, size_t index, const MwArray &array) {
  MW_TRY(checkOwner(open));
  Session &session = *open.session;
  const ValueSet &variables = session.getVariables();
  if (index >= variables.size())
    return usageError("there is no variable of number {}", index);
  MW_TRY(checkValues(open));
  std::string where = fmt::format("variable \"{}\"", variables.getName(index));
  MW_TRY_ASSIGN(TensorView view, toView(array, where));
  if (view.type != variables.getType(index) || !canTakeFor(view.shape, variables.getShape(index)))
    return inputError("{} is {} but the array is {}", where,
                      toString(variables.getShape(index), variables.getType(index)), toString(view.shape, view.type));
  session.scatter(variables, index, view.bytes);
  open.noteGiven();
  return {};
}

Status save(OpenSession &open, const std::string &path) {
  MW_TRY(checkOwner(open));
  MW_TRY(checkValues(open));
  const Session &session = *open.session;
  MW_TRY_ASSIGN(std::optional<SafeTensorsWriter> file,
                writeValues(path, session, session.getVariables(), findSaved(session)));
  return file->commit();
}

Status saveCheckpoint(OpenSession &open, const std::string &path, uint64_t keep) {
  MW_TRY(checkOwner(open));
  MW_TRY(checkValues(open));
  MW_TRY_ASSIGN(CheckpointFolder folder, CheckpointFolder::open(path));
  MW_TRY_ASSIGN(std::unique_ptr<CheckpointWriter> writer,
                CheckpointWriter::create(*open.session, std::move(folder), std::max<uint64_t>(keep, 1)));
  CheckpointState state;
  state.step = state.dataPosition = open.steps;
  state.seed = open.seed;
  MW_TRY(writer->save(std::move(state)));
  return writer->finish();
}

Status restoreFrom(OpenSession &open, const std::string &path) {
  MW_TRY(checkOwner(open));
  MW_TRY(checkHealth(open));
  MW_TRY_ASSIGN(std::optional<std::string> found, findCheckpoint(path));
  if (!found)
    return inputError("{} has no checkpoint", path);
  MW_TRY_ASSIGN(Checkpoint checkpoint, Checkpoint::open(*found));
  open.hasValues = open.hasOutputs = false;
  MW_TRY(restore(*open.session, checkpoint));
  open.hasValues = true;
  open.noteGiven();
  open.steps = checkpoint.getIndex().step;
  open.seed = checkpoint.getIndex().seed;
  return {};
}

} // namespace

//===----------------------------------------------------------------------===//
// Packages
//===----------------------------------------------------------------------===//

MwString mwElementTypeGetName(MwElementType type) {
  return mwElementTypeGetSize(type) == 0 ? MwString() : toC(getName(static_cast<DType>(type)));
}
size_t mwElementTypeGetSize(MwElementType type) {
  return type <= MwElementTypeInvalid || type > MwElementTypeF8E3M4 ? 0 : getSize(static_cast<DType>(type));
}

MwString mwRuntimeGetVersion(void) { return toC(MESHWRIGHT_VERSION); }
MwRuntime mwRuntimeCreate(MwDiagnosticCallback callback, void *userData) { return {new Reporter{callback, userData}}; }
void mwRuntimeDestroy(MwRuntime runtime) { delete static_cast<Reporter *>(runtime.pointer); }

MwPackage mwPackageOpen(MwRuntime runtime, MwString folder) {
  const Reporter &reporter = unwrap(runtime);
  std::string path(fromC(folder));
  std::shared_ptr<OpenPackage> open;
  guard(reporter, path, [&]() -> Status {
    MW_TRY_ASSIGN(LoadedPackage package, LoadedPackage::open(path));
    open = makePackage(reporter, std::make_shared<const LoadedPackage>(std::move(package)));
    return {};
  });
  return {open ? new std::shared_ptr<OpenPackage>(std::move(open)) : nullptr};
}

/// The programs that evaluate; null where there are none.
static std::shared_ptr<OpenPackage> findEvaluation(const OpenPackage &open) {
  std::shared_ptr<OpenPackage> made;
  if (const LoadedPackage *evaluation = open.package->getEvaluation())
    guard(open.reporter, {}, [&]() -> Status {
      // A part of the package, which is there as long as the whole.
      made = makePackage(open.reporter, std::shared_ptr<const LoadedPackage>(open.package, evaluation));
      made->isEvaluation = true;
      return {};
    });
  return made;
}

MwPackage mwPackageGetEvaluation(MwPackage package) {
  std::shared_ptr<OpenPackage> made = findEvaluation(*unwrap(package));
  return {made ? new std::shared_ptr<OpenPackage>(std::move(made)) : nullptr};
}

void mwPackageDestroy(MwPackage package) { delete static_cast<std::shared_ptr<OpenPackage> *>(package.pointer); }

void mwPackageGetInfo(MwPackage package, MwPackageInfo *info) {
  const LoadedPackage &open = *unwrap(package)->package;
  const meshwright::Package &message = open.message();
  *info = {open.getMesh().getNumRanks(),
           open.getMesh().getNumAxes(),
           open.getAccumulationSteps(),
           open.hasSerial(),
           open.getHash(),
           toC(message.metrics().loss()),
           toC(message.producer())};
}

bool mwPackageGetAxis(MwPackage package, size_t index, MwString *name, int64_t *size) {
  const Mesh &mesh = unwrap(package)->package->getMesh();
  if (index >= mesh.getNumAxes())
    return false;
  *name = toC(mesh.getName(index));
  *size = mesh.getSize(index);
  return true;
}

size_t mwPackageGetNumValues(MwPackage package, MwValueKind kind) {
  return isKind(kind) ? unwrap(package)->values[kind].size() : 0;
}

bool mwPackageGetValue(MwPackage package, MwValueKind kind, size_t index, MwValueInfo *info) {
  if (index >= mwPackageGetNumValues(package, kind))
    return false;
  *info = unwrap(package)->values[kind][index].info;
  return true;
}

//===----------------------------------------------------------------------===//
// Sessions
//===----------------------------------------------------------------------===//

/// A session of `package`, in the memory of `trained` if that is not null, with the options that `getOptions` finds.
template <typename Fn>
static MwSession createSession(const std::shared_ptr<OpenPackage> &package, const std::shared_ptr<OpenSession> &trained,
                               Fn &&getOptions) {
  std::shared_ptr<OpenSession> session;
  guard(package->reporter, package->package->getFolder(), [&]() -> Status {
    MW_TRY_ASSIGN(SessionOptions options, getOptions());
    MW_TRY_ASSIGN(std::unique_ptr<Session> created, Session::create(*package->package, options));
    session = std::make_shared<OpenSession>(OpenSession{package, trained, std::move(created)});
    return {};
  });
  if (!session)
    return {nullptr};
  for (const std::string &warning : session->session->getExecutor(0).getWarnings())
    package->reporter.report(MwSeverityWarning, warning);
  return {new std::shared_ptr<OpenSession>(std::move(session))};
}

MwSession mwSessionCreate(MwPackage package, const MwSessionOptions *options) {
  std::shared_ptr<OpenPackage> &open = unwrap(package);
  return createSession(open, nullptr, [&]() -> Result<SessionOptions> {
    if (open->isEvaluation)
      return usageError("programs that evaluate run in the memory of a session that trains");
    return translate(options ? *options : MwSessionOptions());
  });
}

MwSession mwSessionCreateEvaluation(MwSession session) {
  const std::shared_ptr<OpenSession> &trained = share(session);
  std::shared_ptr<OpenPackage> evaluation = findEvaluation(*trained->package);
  return createSession(evaluation ? evaluation : trained->package, trained, [&]() -> Result<SessionOptions> {
    MW_TRY(checkOwner(*trained));
    if (!evaluation)
      return usageError("the package has nothing to evaluate; eval in the strategy would give it something");
    SessionOptions options = trained->session->getOptions();
    options.beside = trained->session.get();
    return options;
  });
}

void mwSessionDestroy(MwSession session) { delete static_cast<std::shared_ptr<OpenSession> *>(session.pointer); }

MwStatus mwSessionInitialize(MwSession session, MwString file, const MwArray *arrays, size_t numArrays, uint64_t seed) {
  OpenSession &open = unwrap(session);
  std::string path(fromC(file));
  return guard(open.package->reporter, path, [&] { return initialize(open, path, {arrays, numArrays}, seed); });
}

MwStatus mwSessionStep(MwSession session, const MwArray *feeds, size_t numFeeds) {
  OpenSession &open = unwrap(session);
  return guard(open.package->reporter, {}, [&] { return step(open, {feeds, numFeeds}); });
}

void mwSessionInterrupt(MwSession session) { unwrap(session).session->interrupt(); }

bool mwSessionIsKnown(MwSession session, size_t output) {
  const OpenSession &open = unwrap(session);
  return open.hasOutputs && open.isInMemory() && output < open.session->getOutputs().size() &&
         open.session->isKnown(output);
}

uint64_t mwSessionGetStep(MwSession session) { return unwrap(session).steps; }

MwStatus mwSessionGetValue(MwSession session, MwValueKind kind, size_t index, void *data, size_t bytes) {
  OpenSession &open = unwrap(session);
  return guard(open.package->reporter, {}, [&]() -> Status {
    MW_TRY(checkValue(open, kind, index));
    const ValueSet &set = open.getSet(kind);
    if (bytes != set.getBytes(index))
      return usageError("\"{}\" has {} bytes, but there is room for {}", set.getName(index), set.getBytes(index),
                        bytes);
    return open.session->gather(set, index, {static_cast<std::byte *>(data), bytes});
  });
}

const void *mwSessionGetView(MwSession session, MwValueKind kind, size_t index) {
  OpenSession &open = unwrap(session);
  const Session &running = *open.session;
  if (running.runsAhead() || !isKind(kind) || kind == MwValueInput || !open.getOwner().hasValues || open.hasFailed ||
      index >= open.getSet(kind).size())
    return nullptr;
  if (kind == MwValueOutput && (!open.hasOutputs || !open.isInMemory() || !running.isKnown(index)))
    return nullptr;
  const ValueSet &set = open.getSet(kind);
  const Layout &layout = set.getLayout(index);
  if (layout.getNumAddends() != 1 || layout.getLocalShape() != layout.getShape())
    return nullptr;
  for (int64_t rank = 0; rank != running.getNumRanks(); ++rank)
    if (std::span<std::byte> array = set.getArray(index, rank); !array.empty())
      return array.data();
  return nullptr;
}

MwStatus mwSessionSetVariable(MwSession session, size_t index, const MwArray *array) {
  OpenSession &open = unwrap(session);
  return guard(open.package->reporter, {}, [&] { return setVariable(open, index, *array); });
}

MwStatus mwSessionSave(MwSession session, MwString file) {
  OpenSession &open = unwrap(session);
  std::string path(fromC(file));
  return guard(open.package->reporter, path, [&] { return save(open, path); });
}

MwStatus mwSessionSaveCheckpoint(MwSession session, MwString folder, uint64_t keep) {
  OpenSession &open = unwrap(session);
  std::string path(fromC(folder));
  return guard(open.package->reporter, path, [&] { return saveCheckpoint(open, path, keep); });
}

MwStatus mwSessionRestore(MwSession session, MwString path) {
  OpenSession &open = unwrap(session);
  std::string from(fromC(path));
  return guard(open.package->reporter, from, [&] { return restoreFrom(open, from); });
}
