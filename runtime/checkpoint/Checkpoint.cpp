//===- Checkpoint.cpp - the state of a run on disk ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Opens a checkpoint of any number of ranks and reads arbitrary boxes of its variables, so that a run may continue on
// another mesh. Sizes are compared before any work in proportion to them: parts of one addend at different coordinates
// share no element, so a variable is complete if its parts have as many elements as it has.
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/Checkpoint.h"
#include "meshwright/runtime/Checksum.h"
#include <algorithm>
#include <charconv>
#include <filesystem>

using namespace meshwright;
using namespace meshwright::runtime;

std::string meshwright::runtime::getCheckpointName(uint64_t step) { return fmt::format("step-{:012}", step); }

/// The step of a checkpoint of that name; nothing if it is none.
static std::optional<uint64_t> parseName(const std::string &name) {
  uint64_t step = 0;
  if (!name.starts_with("step-"))
    return std::nullopt;
  std::from_chars(name.data() + 5, name.data() + name.size(), step);
  return getCheckpointName(step) == name ? std::optional(step) : std::nullopt;
}

Result<std::vector<std::pair<uint64_t, std::string>>> meshwright::runtime::listCheckpoints(const std::string &folder) {
  std::vector<std::pair<uint64_t, std::string>> found;
  std::error_code error;
  std::filesystem::directory_iterator entry(folder, error), end;
  if (error == std::errc::no_such_file_or_directory)
    return found;
  for (; !error && entry != end; entry.increment(error)) {
    std::error_code ignored;
    if (std::optional<uint64_t> step = parseName(entry->path().filename().string()))
      if (std::filesystem::exists(entry->path() / checkpointIndexName, ignored))
        found.push_back({*step, entry->path().string()});
  }
  if (error)
    return inputError("cannot read {}: {}", folder, error.message());
  std::sort(found.begin(), found.end());
  return found;
}

Result<std::optional<std::string>> meshwright::runtime::findCheckpoint(const std::string &path) {
  std::error_code ignored;
  if (std::filesystem::exists(path + "/" + checkpointIndexName, ignored))
    return std::optional(path);
  MW_TRY_ASSIGN(auto found, listCheckpoints(path));
  return found.empty() ? std::nullopt : std::optional(found.back().second);
}

static Result<CheckpointIndex> readIndex(const std::string &folder) {
  std::string path = folder + "/" + checkpointIndexName;
  MW_TRY_ASSIGN(InputFile file, InputFile::open(path));
  auto index = CheckpointIndex::parse({reinterpret_cast<const char *>(file.bytes().data()), file.bytes().size()});
  if (!index.ok())
    return index.status().within(path);
  return index;
}

std::optional<size_t> meshwright::runtime::findFinite(std::span<const std::pair<uint64_t, std::string>> checkpoints,
                                                      size_t count) {
  for (size_t i = std::min(count, checkpoints.size()); i-- != 0;)
    if (auto index = readIndex(checkpoints[i].second); index.ok() && index->isFinite())
      return i;
  return std::nullopt;
}

Result<Checkpoint> Checkpoint::open(const std::string &folder) {
  Checkpoint checkpoint;
  checkpoint.folder = folder;
  MW_TRY_ASSIGN(checkpoint.index, readIndex(folder));
  MW_TRY(checkpoint.openFiles());
  for (const CheckpointVariable &variable : checkpoint.index.variables)
    MW_TRY(checkpoint.openVariable(variable).within(fmt::format("{}: variable \"{}\"", folder, variable.name)));
  return checkpoint;
}

Status Checkpoint::openFiles() {
  // The files have as many bytes as the index promises: checked before any work in proportion to the promise.
  uint64_t wanted = 0, there = 0;
  for (const CheckpointVariable &variable : index.variables) {
    uint64_t bytes;
    if (__builtin_mul_overflow(variable.getBytes(), variable.addends, &bytes) ||
        __builtin_add_overflow(wanted, bytes, &wanted))
      return inputError("{}: the variables have more bytes than can be counted", folder);
    for (const CheckpointPart &part : variable.parts)
      if (!files.contains(part.file)) {
        MW_TRY_ASSIGN(SafeTensors file, SafeTensors::open(folder + "/" + part.file));
        files.emplace(part.file, std::move(file));
      }
  }
  for (const auto &[name, file] : files)
    for (const auto &[tensor, view] : file.tensors())
      there += view.bytes.size();
  if (wanted != there)
    return inputError("{}: the variables of the index have {} bytes but the tensors of the files have {}", folder,
                      wanted, there);
  return {};
}

Status Checkpoint::openVariable(const CheckpointVariable &variable) {
  MW_TRY_ASSIGN(Layout layout, variable.makeLayout());
  std::vector<Part> &opened = parts.emplace_back();
  uint64_t there = 0, size = runtime::getSize(variable.type), wanted = variable.getBytes() / size * variable.addends;
  if (wanted == 0 && !variable.parts.empty())
    return inputError("it has {} parts but no elements", variable.parts.size());
  for (const CheckpointPart &part : variable.parts) {
    const SafeTensors &file = files.at(part.file);
    const TensorView *tensor = file.find(variable.name);
    if (!tensor)
      return inputError("{} does not have it", file.path());
    Box box = Box(layout, part.at).pack();
    if (tensor->type != variable.type || tensor->shape != box.getArrayShape())
      return inputError("{} has {} but the part at [{}] is {}", file.path(), toString(tensor->shape, tensor->type),
                        fmt::join(part.at, ", "), toString(box.getArrayShape(), variable.type));
    there += tensor->size();
    opened.push_back({part.addend, std::move(box), tensor->bytes});
  }
  // Parts of one addend at different coordinates share nothing, so all are complete if together they are.
  if (there != wanted)
    return inputError("its parts have {} elements of {}", there, wanted);
  return {};
}

Status Checkpoint::verify(size_t variable, size_t part) const {
  const CheckpointVariable &entry = index.variables[variable];
  uint32_t found = computeChecksum(parts[variable][part].bytes);
  if (found == entry.parts[part].checksum)
    return {};
  return inputError("{}/{}: variable \"{}\" has checksum {} but the index says {}", folder, entry.parts[part].file,
                    entry.name, formatChecksum(found), formatChecksum(entry.parts[part].checksum));
}

Status Checkpoint::verify() const {
  for (size_t variable = 0; variable != parts.size(); ++variable)
    for (size_t part = 0; part != parts[variable].size(); ++part)
      MW_TRY(verify(variable, part));
  return {};
}

void Checkpoint::read(size_t variable, const Box &to, std::byte *target) const {
  readAddend(variable, 0, to, target);
  std::vector<const Part *> others;
  for (const Part &part : parts[variable])
    if (part.addend != 0)
      others.push_back(&part);
  // Parts of one addend have no element in common.
  std::sort(others.begin(), others.end(), [](const Part *a, const Part *b) { return a->addend < b->addend; });
  for (const Part *part : others)
    addShared(part->box, part->bytes.data(), to, target, index.variables[variable].type);
}

void Checkpoint::readAddend(size_t variable, uint64_t addend, const Box &to, std::byte *target) const {
  for (const Part &part : parts[variable])
    if (part.addend == addend)
      copyShared(part.box, part.bytes.data(), to, target, runtime::getSize(index.variables[variable].type));
}

void Checkpoint::readWhole(size_t variable, std::span<std::byte> whole) const {
  Box box(Layout::replicated(index.variables[variable].shape), {});
  read(variable, box, whole.data());
}
