//===- Package.cpp - a package that can be run ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Opens a package and checks all of it, in an order in which each check may rely on those before: loops are expanded,
// then the mesh, the variables and ports, the programs one by one, and last the properties of all ranks together:
// groups agree and the orders of collectives cannot deadlock. The programs for evaluation are checked as a package of
// their own.
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/Package.h"
#include "CheckCollectives.h"
#include "CheckSchedules.h"
#include "ContentHash.h"
#include "ExpandLoops.h"
#include "meshwright/runtime/InitialValues.h"
#include "meshwright/runtime/SchemaVersion.h"
#include <algorithm>
#include <array>
#include <google/protobuf/stubs/logging.h>
#include <set>
#include <unistd.h>

using namespace meshwright;
using namespace meshwright::runtime;

static Status checkHash(uint64_t expected, std::span<const std::byte> bytes) {
  uint64_t found = hashContent(bytes);
  if (found == expected)
    return {};
  return inputError("the file is damaged or of another package: its {} bytes have the hash {} but the package says {}",
                    bytes.size(), formatHash(found), formatHash(expected));
}

/// A file that cannot be parsed may still say that it was another one once.
static Status checkSeal(std::span<const std::byte> bytes) {
  std::optional<PackageSeal> seal = findSeal(bytes);
  return seal ? checkHash(seal->hash, bytes.first(seal->contentBytes)) : Status();
}

Status LoadedPackage::checkLibraryFile(const KernelLibrary &library, std::span<const std::byte> bytes,
                                       const std::string &path) const {
  return content->hash() == 0 ? Status() : checkHash(library.hash(), bytes).within(path);
}

Status LoadedPackage::checkConstants() const { return checkHash(content->constants_hash(), getConstants()); }

Result<LoadedPackage> LoadedPackage::open(const std::string &folder) {
  std::string path = folder + "/package.pb";
  MW_TRY_ASSIGN(InputFile file, InputFile::open(path));
  meshwright::Package message;
  std::span<const std::byte> bytes = file.bytes();
  // Protobuf would print its own message besides the error below.
  google::protobuf::LogSilencer silencer;
  MW_TRY(checkSeal(bytes).within(path));
  if (bytes.size() > static_cast<size_t>(INT32_MAX) || !message.ParseFromArray(bytes.data(), bytes.size()))
    return inputError("{}: the {} bytes are no package message", path, bytes.size());
  if (message.version() == schemaVersion && !findSeal(bytes))
    return inputError("{}: the package does not end with the hash of its content", path);
  std::optional<InputFile> constants;
  std::string constantsPath = folder + "/constants.bin";
  if (access(constantsPath.c_str(), F_OK) == 0) {
    MW_TRY_ASSIGN(constants, InputFile::open(constantsPath));
  }
  auto package = create(std::move(message), folder, std::move(constants));
  if (!package.ok())
    return package.status().within(path);
  MW_TRY(package->checkConstants().within(constantsPath));
  return package;
}

Result<LoadedPackage> LoadedPackage::create(meshwright::Package message, std::string folder,
                                            std::optional<InputFile> constants) {
  LoadedPackage package;
  package.content = std::make_unique<meshwright::Package>(std::move(message));
  package.folder = std::move(folder);
  if (constants)
    package.constants = std::make_shared<const InputFile>(std::move(*constants));
  MW_TRY(package.check());
  MW_TRY(checkArenas(package.message()));
  return package;
}

namespace {

/// Bound on the bytes of all variables and ports together, so that no sum over some of them overflows.
constexpr uint64_t maxValueBytes = uint64_t(1) << 60;

/// The layout of a variable or port, whose bytes are added to `bytes`; `what` and its name go into errors.
template <typename Value>
Status checkValue(const Value &value, const char *what, const Mesh &mesh, std::vector<Layout> &layouts,
                  std::vector<Layout> &serialLayouts, bool isExact, uint64_t &bytes) {
  auto check = [&]() -> Status {
    if (getSize(value.dtype()) == 0 || (value.dtype() == RESIDUE && !isExact))
      return inputError("element type {} is unknown", static_cast<int>(value.dtype()));
    Shape shape(value.shape().begin(), value.shape().end());
    std::optional<uint64_t> elements = getNumElements(shape);
    if (!elements)
      return inputError("the shape {} is no shape whose bytes can be counted", toString(shape));
    if (*elements * getSize(value.dtype()) > maxValueBytes - bytes)
      return inputError("the values up to this one have more than {} bytes, the most that can be added up",
                        maxValueBytes);
    bytes += *elements * getSize(value.dtype());
    MW_TRY_ASSIGN(Layout layout, Layout::create(value.placement(), mesh, shape));
    layouts.push_back(std::move(layout));
    serialLayouts.push_back(Layout::replicated(std::move(shape)));
    return {};
  };
  return check().within(fmt::format("{} \"{}\"", what, value.name()));
}

template <typename Values> Status checkNames(const Values &values, const char *what) {
  std::set<std::string> names;
  for (const auto &value : values)
    if (!names.insert(value.name()).second)
      return inputError("two {}s are called \"{}\"", what, value.name());
  return {};
}

/// Only accumulators are sums over axes.
Status checkWhole(const Placement &placement, const Mesh &mesh) {
  if (placement.partial().empty())
    return {};
  return inputError("it is a sum over axis \"{}\", which only an accumulator may be",
                    mesh.getName(placement.partial(0)));
}

/// An accumulator begins at zero, so that the sum of the ranks' addends does.
Status checkAddends(const Variable &variable, const Mesh &mesh) {
  if (variable.kind() != Variable::ACCUMULATOR)
    return checkWhole(variable.placement(), mesh);
  if (!isFloat(variable.dtype()) && !isInteger(variable.dtype()))
    return inputError("an accumulator of {} has no sums", getName(variable.dtype()));
  const Initializer &init = variable.init();
  if (init.kind() != Initializer::CONSTANT || init.a() != 0)
    return inputError("an accumulator begins at zero, but its initializer says otherwise");
  return {};
}

/// Functions are launched as a GPU can launch them.
Status checkLaunches(const GpuKernel &kernel) {
  constexpr uint64_t maxScratchBytes = uint64_t(1) << 30;
  if (kernel.scratch_bytes() > maxScratchBytes)
    return inputError("kernel {} wants {} bytes of scratch memory; at most {} would do", kernel.symbol(),
                      kernel.scratch_bytes(), maxScratchBytes);
  for (const GpuLaunch &launch : kernel.launches())
    if (launch.blocks() == 0 || launch.blocks() > INT32_MAX || launch.threads() == 0 || launch.threads() > 1024)
      return inputError("kernel {} launches {} with {} blocks of {} threads; 1 to 2147483647 of 1 to 1024 would do",
                        kernel.symbol(), launch.function(), launch.blocks(), launch.threads());
  return {};
}

Status checkLibrary(const KernelLibrary &library) {
  if (library.file().empty() || library.file().find('/') != std::string::npos || library.file().starts_with("."))
    return inputError("the kernels of target \"{}\" are in \"{}\", which is no file of the package", library.target(),
                      library.file());
  for (const GpuKernel &kernel : library.gpu_kernels())
    MW_TRY(checkLaunches(kernel).within(fmt::format("target \"{}\"", library.target())));
  return {};
}

void narrow(DType type, DType &narrowest) {
  if (isFloat(type) && getMantissaBits(type) < getMantissaBits(narrowest))
    narrowest = type;
}

void narrow(const Program &program, DType &narrowest) {
  for (const Buffer &buffer : program.buffers())
    narrow(buffer.dtype(), narrowest);
}

} // namespace

Status LoadedPackage::check() {
  const meshwright::Package &message = *content;
  if (message.version() != schemaVersion)
    return inputError("the package has schema version {} but this runtime reads version {}", message.version(),
                      schemaVersion);
  MW_TRY(expandLoops(*content));
  std::vector<std::string> names;
  std::vector<int64_t> sizes;
  for (const Axis &axis : message.axes()) {
    names.push_back(axis.name());
    sizes.push_back(axis.size());
  }
  MW_TRY_ASSIGN(mesh, Mesh::create(std::move(names), std::move(sizes)));
  MW_TRY(checkValues());
  MW_TRY(checkPrograms());
  for (const KernelLibrary &library : message.libraries())
    MW_TRY(checkLibrary(library));
  return message.has_evaluation() ? openEvaluation().within("evaluation") : Status();
}

/// A package of its own, but for what it has in common with this one.
Status LoadedPackage::openEvaluation() {
  if (content->evaluation().has_evaluation())
    return inputError("programs that evaluate have such programs themselves");
  evaluation.reset(new LoadedPackage);
  evaluation->content = std::make_unique<meshwright::Package>(content->evaluation());
  meshwright::Package &message = *evaluation->content;
  message.set_version(content->version());
  message.set_producer(content->producer());
  message.set_hash(content->hash());
  *message.mutable_axes() = content->axes();
  *message.mutable_libraries() = content->libraries();
  evaluation->folder = folder;
  evaluation->constants = constants;
  MW_TRY(evaluation->check());
  return checkEvaluation(*content, message);
}

Status LoadedPackage::checkValues() {
  const meshwright::Package &message = *content;
  MW_TRY(checkNames(message.variables(), "variable"));
  MW_TRY(checkNames(message.inputs(), "input"));
  MW_TRY(checkNames(message.outputs(), "output"));
  uint64_t bytes = 0;
  for (const Variable &variable : message.variables()) {
    MW_TRY(checkValue(variable, "variable", mesh, layouts.variables, serialLayouts.variables, isExact(), bytes));
    std::string context = fmt::format("variable \"{}\"", variable.name());
    MW_TRY(checkAddends(variable, mesh).within(context));
    if (variable.has_init())
      MW_TRY(checkInitializer(variable.init(), variable.dtype()).within(context));
  }
  for (const Port &port : message.inputs()) {
    MW_TRY(checkValue(port, "input", mesh, layouts.inputs, serialLayouts.inputs, isExact(), bytes));
    MW_TRY(checkWhole(port.placement(), mesh).within(fmt::format("input \"{}\"", port.name())));
  }
  for (const Port &port : message.outputs()) {
    MW_TRY(checkValue(port, "output", mesh, layouts.outputs, serialLayouts.outputs, isExact(), bytes));
    MW_TRY(checkWhole(port.placement(), mesh).within(fmt::format("output \"{}\"", port.name())));
  }
  return {};
}

Status LoadedPackage::checkPrograms() {
  const meshwright::Package &message = *content;
  if (message.program_of_rank_size() != mesh.getNumRanks())
    return inputError("the mesh has {} ranks but the package gives programs to {}", mesh.getNumRanks(),
                      message.program_of_rank_size());
  std::vector<std::vector<int64_t>> ranks(message.programs_size());
  for (int rank = 0; rank != message.program_of_rank_size(); ++rank) {
    uint32_t program = message.program_of_rank(rank);
    if (program >= static_cast<uint32_t>(message.programs_size()))
      return inputError("a rank runs program {} but the package has {}", program, message.programs_size());
    ranks[program].push_back(rank);
  }
  MW_TRY_ASSIGN(variants, checkSchedules(message));
  for (int i = 0; i != message.programs_size(); ++i)
    MW_TRY(checkProgram(*this, message.programs(i), mesh, layouts, ranks[i], fmt::format("program {}", i)));
  if (message.has_serial())
    MW_TRY(checkProgram(*this, message.serial(), Mesh(), serialLayouts, std::array<int64_t, 1>(), "serial program"));
  MW_TRY(checkSupports());
  MW_TRY(checkGroups(message, mesh, variants));
  return checkProgress(message, mesh, variants);
}

size_t LoadedPackage::getVariant(uint32_t position) const {
  auto next = std::upper_bound(variants.begin(), variants.end(), position,
                               [](uint32_t value, const StepVariant &variant) { return value < variant.begin; });
  return static_cast<size_t>(next - variants.begin()) - 1;
}

/// No rank has a place for a value that it does not hold.
Status LoadedPackage::checkSupports() const {
  auto check = [&](const auto &values, const std::vector<Layout> &valueLayouts, const char *what,
                   auto getPlaces) -> Status {
    for (int i = 0; i != values.size(); ++i) {
      if (valueLayouts[i].isOnAllRanks())
        continue;
      for (int rank = 0; rank != content->program_of_rank_size(); ++rank) {
        const Program &program = content->programs(static_cast<int>(content->program_of_rank(rank)));
        if (getPlaces(program)[i] != -1 && !valueLayouts[i].isHeldAt(mesh.getCoordinates(rank)))
          return inputError("rank {} has a place for {} \"{}\", which it does not hold", rank, what, values[i].name());
      }
    }
    return {};
  };
  MW_TRY(check(content->variables(), layouts.variables, "variable",
               [](const Program &program) -> const auto & { return program.variable_buffers(); }));
  MW_TRY(check(content->inputs(), layouts.inputs, "input",
               [](const Program &program) -> const auto & { return program.input_buffers(); }));
  return check(content->outputs(), layouts.outputs, "output",
               [](const Program &program) -> const auto & { return program.output_buffers(); });
}

DType LoadedPackage::getArithmetic() const {
  DType narrowest = F64;
  narrow(content->arithmetic(), narrowest);
  if (content->has_serial())
    narrow(content->serial(), narrowest);
  else
    for (const Program &program : content->programs())
      narrow(program, narrowest);
  return narrowest;
}
