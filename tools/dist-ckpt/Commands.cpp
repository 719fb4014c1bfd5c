//===- Commands.cpp - what dist-ckpt does ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The commands on checkpoints without their package: list, verify, export and import. Files appear under their names
// only when they are complete. Exports follow the layout of safetensors and its index of shards, as Hugging Face reads
// it.
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "meshwright/runtime/CheckpointFolder.h"
#include "meshwright/runtime/Checksum.h"
#include "meshwright/runtime/Json.h"
#include <filesystem>
#include <set>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::tool;

/// Hugging Face's name for the index of a network in several files.
static constexpr const char *shardIndexName = "model.safetensors.index.json";

static Result<Checkpoint> openNewest(const std::string &path) {
  MW_TRY_ASSIGN(std::optional<std::string> found, findCheckpoint(path));
  if (!found)
    return inputError("{} is no checkpoint and has none", path);
  return Checkpoint::open(*found);
}

/// The checkpoint of that path, or all that are in it.
static Result<std::vector<std::string>> findAll(const std::string &path) {
  MW_TRY_ASSIGN(std::optional<std::string> newest, findCheckpoint(path));
  if (!newest)
    return inputError("{} is no checkpoint and has none", path);
  if (*newest == path)
    return std::vector{path};
  std::vector<std::string> paths;
  MW_TRY_ASSIGN(auto found, listCheckpoints(path));
  for (const auto &[step, checkpoint] : found)
    paths.push_back(checkpoint);
  return paths;
}

static uint64_t countBytes(const CheckpointIndex &index) {
  uint64_t bytes = 0;
  for (const CheckpointVariable &variable : index.variables)
    bytes += variable.getBytes();
  return bytes;
}

static std::string describe(const Checkpoint &checkpoint) {
  const CheckpointIndex &index = checkpoint.getIndex();
  std::set<std::string> files;
  for (const CheckpointVariable &variable : index.variables)
    for (const CheckpointPart &part : variable.parts)
      files.insert(part.file);
  std::string accumulation = index.accumulationPosition == 0
                                 ? ""
                                 : fmt::format(" after {} of {} steps of an accumulation", index.accumulationPosition,
                                               index.accumulationSteps);
  std::string finite =
      index.isFinite()
          ? ""
          : fmt::format(", not finite: \"{}\"{}", index.nonFinite->front(),
                        index.nonFinite->size() == 1 ? "" : fmt::format(" and {} more", index.nonFinite->size() - 1));
  return fmt::format("{}: step {}{}, data position {}, seed {}, {} variables of {} bytes in {} files{}",
                     checkpoint.getFolder(), index.step, accumulation, index.dataPosition, index.seed,
                     index.variables.size(), countBytes(index), files.size(), finite);
}

static Status list(const std::string &path) {
  MW_TRY_ASSIGN(std::vector<std::string> paths, findAll(path));
  for (const std::string &found : paths) {
    MW_TRY_ASSIGN(Checkpoint checkpoint, Checkpoint::open(found));
    fmt::print("{}\n", describe(checkpoint));
    if (found == path)
      for (const CheckpointVariable &variable : checkpoint.getIndex().variables)
        fmt::print("  {}: {}{}{}{}, {} parts\n", variable.name, toString(variable.shape, variable.type),
                   variable.kind.empty() ? "" : ", ", variable.kind,
                   variable.addends == 1 ? "" : fmt::format(", sum of {} addends", variable.addends),
                   variable.parts.size());
  }
  return {};
}

static Status verify(const std::string &path) {
  MW_TRY_ASSIGN(std::vector<std::string> paths, findAll(path));
  for (const std::string &found : paths) {
    auto checkpoint = Checkpoint::open(found);
    Status status = checkpoint.ok() ? checkpoint->verify() : checkpoint.status();
    if (!status.ok())
      return Status(Code::CheckFailed, status.message());
    fmt::print("{}: good\n", describe(*checkpoint));
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Export
//===----------------------------------------------------------------------===//

/// The metadata that says to readers whose order of dimensions it is.
static const std::map<std::string, std::string> &getMetadata() {
  static const std::map<std::string, std::string> metadata = {{"format", "pt"}};
  return metadata;
}

/// The type that a variable is exported in.
static DType getExportType(const CheckpointVariable &variable, std::optional<DType> type) {
  return type && isFloat(variable.type) ? *type : variable.type;
}

static uint64_t getExportBytes(const CheckpointVariable &variable, std::optional<DType> type) {
  return *getNumElements(variable.shape) * runtime::getSize(getExportType(variable, type));
}

static Status exportFile(const Checkpoint &checkpoint, std::span<const size_t> variables, const std::string &path,
                         std::optional<DType> type) {
  std::vector<SafeTensorsEntry> entries;
  for (size_t i : variables) {
    const CheckpointVariable &variable = checkpoint.getIndex().variables[i];
    entries.push_back({variable.name, getExportType(variable, type), variable.shape});
  }
  MW_TRY_ASSIGN(SafeTensorsWriter writer, SafeTensorsWriter::create(path, entries, getMetadata()));
  std::vector<std::byte> whole, rounded;
  for (size_t i : variables) {
    const CheckpointVariable &variable = checkpoint.getIndex().variables[i];
    whole.resize(variable.getBytes());
    checkpoint.readWhole(i, whole);
    DType to = getExportType(variable, type);
    if (to != variable.type) {
      rounded.resize(getExportBytes(variable, type));
      MW_TRY(roundFloats(variable.type, whole, to, rounded).within(fmt::format("variable \"{}\"", variable.name)));
    }
    MW_TRY(writer.append(to == variable.type ? whole : rounded));
  }
  return writer.commit();
}

/// Consecutive variables, as many as a file of `limit` bytes holds.
static std::vector<std::vector<size_t>> makeShards(const CheckpointIndex &index, std::span<const size_t> variables,
                                                   uint64_t limit, std::optional<DType> type) {
  std::vector<std::vector<size_t>> shards(1);
  uint64_t bytes = 0;
  for (size_t i : variables) {
    uint64_t size = getExportBytes(index.variables[i], type);
    if (!shards.back().empty() && bytes + size > limit) {
      shards.emplace_back();
      bytes = 0;
    }
    shards.back().push_back(i);
    bytes += size;
  }
  return shards;
}

static Status exportFolder(const Checkpoint &checkpoint, std::span<const size_t> variables, const std::string &path,
                           uint64_t limit, std::optional<DType> type) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error)
    return inputError("cannot create {}: {}", path, error.message());
  const CheckpointIndex &index = checkpoint.getIndex();
  std::vector<std::vector<size_t>> shards = makeShards(index, variables, limit, type);
  Json weights = Json::object();
  uint64_t bytes = 0;
  for (size_t shard = 0; shard != shards.size(); ++shard) {
    std::string file = fmt::format("model-{:05}-of-{:05}.safetensors", shard + 1, shards.size());
    MW_TRY(exportFile(checkpoint, shards[shard], path + "/" + file, type));
    for (size_t i : shards[shard]) {
      weights[index.variables[i].name] = file;
      bytes += getExportBytes(index.variables[i], type);
    }
  }
  Json root = {{"metadata", {{"total_size", bytes}}}, {"weight_map", std::move(weights)}};
  MW_TRY_ASSIGN(OutputFile file, OutputFile::create(path + "/" + shardIndexName));
  MW_TRY(file.write(toText(root) + "\n"));
  return file.commit();
}

static Status exportCheckpoint(const CheckpointOptions &options) {
  MW_TRY_ASSIGN(Checkpoint checkpoint, openNewest(options.paths[0]));
  MW_TRY(checkpoint.verify());
  std::vector<size_t> variables;
  const CheckpointIndex &index = checkpoint.getIndex();
  for (size_t i = 0; i != index.variables.size(); ++i) {
    const std::string &kind = index.variables[i].kind;
    if (options.parameters ? kind == "parameter" || kind == "buffer" : !index.variables[i].isAccumulator())
      variables.push_back(i);
  }
  if (index.accumulationPosition != 0 && !options.parameters)
    fmt::print(stderr,
               "dist-ckpt: warning: {} is after {} of {} steps of an accumulation; what they accumulated is left out\n",
               checkpoint.getFolder(), index.accumulationPosition, index.accumulationSteps);
  if (options.parameters && variables.empty())
    return inputError("{} does not say which of its {} variables are parameters", checkpoint.getFolder(),
                      checkpoint.getIndex().variables.size());
  const std::string &path = options.paths[1];
  return path == "-" || path.ends_with(".safetensors")
             ? exportFile(checkpoint, variables, path, options.type)
             : exportFolder(checkpoint, variables, path, options.shard, options.type);
}

//===----------------------------------------------------------------------===//
// Import
//===----------------------------------------------------------------------===//

/// The tensors of one file, or of those that an index names.
struct Source {
  std::map<std::string, SafeTensors> files;
  std::map<std::string, const TensorView *> tensors;
};

static Status openShards(const std::string &folder, Source &source) {
  std::string path = folder + "/" + shardIndexName;
  MW_TRY_ASSIGN(InputFile file, InputFile::open(path));
  auto root = parseJson({reinterpret_cast<const char *>(file.bytes().data()), file.bytes().size()});
  if (!root.ok())
    return root.status().within(path);
  if (!root->is_object() || !root->contains("weight_map") || !(*root)["weight_map"].is_object())
    return inputError("{} has no object \"weight_map\"", path);
  for (const auto &[name, value] : (*root)["weight_map"].items()) {
    std::string shard = value.is_string() ? value.get<std::string>() : "";
    // The index may only name files of its own folder: a path could lead out of it.
    if (shard.empty() || shard[0] == '.' || shard.find_first_of(std::string("/\0", 2)) != std::string::npos)
      return inputError("{}: tensor \"{}\" is in {}, which is no file of the folder", path, name, toText(value));
    if (!source.files.contains(shard)) {
      MW_TRY_ASSIGN(SafeTensors opened, SafeTensors::open(folder + "/" + shard));
      source.files.emplace(shard, std::move(opened));
    }
    const TensorView *tensor = source.files.at(shard).find(name);
    if (!tensor)
      return inputError("{}: tensor \"{}\" is not in {}", path, name, shard);
    source.tensors[name] = tensor;
  }
  return {};
}

static Status openSource(const std::string &path, Source &source) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    return openShards(path, source);
  MW_TRY_ASSIGN(SafeTensors file, SafeTensors::open(path));
  const SafeTensors &opened = source.files.emplace(path, std::move(file)).first->second;
  for (const auto &[name, view] : opened.tensors())
    source.tensors[name] = &view;
  return {};
}

static Status importCheckpoint(const CheckpointOptions &options) {
  Source source;
  MW_TRY(openSource(options.paths[0], source));
  MW_TRY_ASSIGN(CheckpointFolder folder, CheckpointFolder::open(options.paths[1]));
  MW_TRY_ASSIGN(auto found, listCheckpoints(folder.getPath()));
  for (const auto &[step, path] : found)
    if (step == options.step)
      return inputError("{} is there already", path);
  static const std::string file = "rank-00000.safetensors";
  CheckpointIndex index;
  index.step = index.dataPosition = options.step;
  std::vector<SafeTensorsEntry> entries;
  for (const auto &[name, tensor] : source.tensors) {
    entries.push_back({name, tensor->type, tensor->shape});
    CheckpointVariable &variable = index.variables.emplace_back();
    variable.name = name;
    variable.type = tensor->type;
    variable.shape = tensor->shape;
    variable.digits.resize(tensor->shape.size());
    if (!tensor->bytes.empty())
      variable.parts.push_back({file, {}, computeChecksum(tensor->bytes)});
  }
  MW_TRY_ASSIGN(std::string temporary, folder.begin());
  MW_TRY_ASSIGN(SafeTensorsWriter writer, SafeTensorsWriter::create(temporary + "/" + file, entries));
  for (const auto &[name, tensor] : source.tensors)
    MW_TRY(writer.append(tensor->bytes));
  MW_TRY(writer.sync());
  MW_TRY(writer.commit());
  return folder.commit(temporary, index);
}

Status meshwright::tool::runCommand(const CheckpointOptions &options) {
  if (options.command == "list")
    return list(options.paths[0]);
  if (options.command == "verify")
    return verify(options.paths[0]);
  return options.command == "export" ? exportCheckpoint(options) : importCheckpoint(options);
}
