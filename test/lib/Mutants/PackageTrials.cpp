//===- PackageTrials.cpp - dist-run on damaged files ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Mutates packages, checkpoints and safetensors by their structure: a package is parsed, one field of the message is
// changed, and hashes are written anew, so that the change reaches the checks of the loader instead of the checksums.
//
//===----------------------------------------------------------------------===//

#include "ContentHash.h"
#include "Trials.h"
#include "meshwright/verify/Verify.h"
#include "package.pb.h"
#include <filesystem>
#include <google/protobuf/message.h>

using namespace meshwright::test;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

/// A number that is close to right, or as wrong as its type allows.
static uint64_t drawInteger(Mutator &mutator, uint64_t old) {
  switch (mutator.draw(4)) {
  case 0:
    return old + 1 - 2 * mutator.draw(2);
  case 1:
    return mutator.draw(64);
  case 2:
    return uint64_t(1) << mutator.draw(64);
  default:
    return 0 - mutator.draw(3);
  }
}

/// Calls `change(old)` for the integer in a field and stores what it returns; false where there is none in it.
template <typename Change>
static bool changeInteger(Message &message, const FieldDescriptor *field, int index, Change &&change) {
  const Reflection *reflection = message.GetReflection();
  bool repeated = field->is_repeated();
  auto apply = [&](auto get, auto getRepeated, auto set, auto setRepeated) {
    auto old = repeated ? (reflection->*getRepeated)(message, field, index) : (reflection->*get)(message, field);
    auto next = static_cast<decltype(old)>(change(static_cast<uint64_t>(old)));
    repeated ? (reflection->*setRepeated)(&message, field, index, next) : (reflection->*set)(&message, field, next);
    return true;
  };
  switch (field->cpp_type()) {
  case FieldDescriptor::CPPTYPE_INT32:
    return apply(&Reflection::GetInt32, &Reflection::GetRepeatedInt32, &Reflection::SetInt32,
                 &Reflection::SetRepeatedInt32);
  case FieldDescriptor::CPPTYPE_INT64:
    return apply(&Reflection::GetInt64, &Reflection::GetRepeatedInt64, &Reflection::SetInt64,
                 &Reflection::SetRepeatedInt64);
  case FieldDescriptor::CPPTYPE_UINT32:
    return apply(&Reflection::GetUInt32, &Reflection::GetRepeatedUInt32, &Reflection::SetUInt32,
                 &Reflection::SetRepeatedUInt32);
  case FieldDescriptor::CPPTYPE_UINT64:
    return apply(&Reflection::GetUInt64, &Reflection::GetRepeatedUInt64, &Reflection::SetUInt64,
                 &Reflection::SetRepeatedUInt64);
  case FieldDescriptor::CPPTYPE_ENUM:
    return apply(&Reflection::GetEnumValue, &Reflection::GetRepeatedEnumValue, &Reflection::SetEnumValue,
                 &Reflection::SetRepeatedEnumValue);
  default:
    return false;
  }
}

/// Changes one field somewhere in a message: a number becomes another, an element of a list is left out, doubled or
/// moved, a field is cleared.
static void mutateMessage(Mutator &mutator, Message &message) {
  const Reflection *reflection = message.GetReflection();
  std::vector<const FieldDescriptor *> fields;
  reflection->ListFields(message, &fields);
  if (fields.empty())
    return;
  const FieldDescriptor *field = fields[mutator.draw(fields.size())];
  int size = field->is_repeated() ? reflection->FieldSize(message, field) : 0;
  int index = size == 0 ? 0 : static_cast<int>(mutator.draw(size));
  if (size > 1 && mutator.draw(8) == 0)
    return reflection->SwapElements(&message, field, index, static_cast<int>(mutator.draw(size)));
  if (size != 0 && mutator.draw(8) == 0)
    return reflection->RemoveLast(&message, field);
  if (mutator.draw(32) == 0)
    return reflection->ClearField(&message, field);
  if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE)
    return mutateMessage(mutator, size == 0 ? *reflection->MutableMessage(&message, field)
                                            : *reflection->MutableRepeatedMessage(&message, field, index));
  changeInteger(message, field, index, [&](uint64_t old) { return drawInteger(mutator, old); });
}

/// A package of links to the files of another.
static std::string linkPackage(const std::string &package, const std::string &folder) {
  std::string mutant = folder + "/package";
  std::filesystem::create_directory(mutant);
  for (const auto &entry : std::filesystem::directory_iterator(package))
    std::filesystem::create_symlink(std::filesystem::absolute(entry.path()),
                                    mutant + "/" + entry.path().filename().string());
  return mutant;
}

static void replaceFile(const std::string &path, const std::string &content) {
  std::filesystem::remove(path);
  writeWhole(path, content);
}

/// Damages a safetensors file, in its header as often as in all of it.
static std::string mutateTensors(Mutator &mutator, const std::string &path) {
  std::string content = readWhole(path);
  size_t header =
      std::min<size_t>(content.size(), 8 + static_cast<unsigned char>(content[0]) +
                                           256 * static_cast<size_t>(static_cast<unsigned char>(content[1])));
  if (mutator.draw(4) == 0)
    return mutator.mutateBytes(content);
  return mutator.mutateBytes(content.substr(0, header)) + content.substr(header);
}

namespace {

/// Trials of dist-run.
class PackageTrials {
public:
  explicit PackageTrials(const Samples &samples) : samples(samples) {}

  Outcome tryBytes(Mutator &mutator, const std::string &folder, const std::string &log) const {
    std::string package = linkPackage(samples.package, folder), message = readWhole(package + "/package.pb");
    // With a hash that is right: a wrong one would be all that is noticed.
    message.resize(meshwright::findSeal(std::as_bytes(std::span(message)))->contentBytes);
    std::string mutant = mutator.mutateBytes(message);
    meshwright::Package parsed;
    if (parsed.ParseFromString(mutant))
      verify(parsed);
    replaceFile(package + "/package.pb", meshwright::sealPackage(mutant));
    return run({package, "--feed=" + samples.feed}, log);
  }

  Outcome tryFields(Mutator &mutator, const std::string &folder, const std::string &log) const {
    std::string package = linkPackage(samples.package, folder);
    meshwright::Package message;
    message.ParseFromString(readWhole(package + "/package.pb"));
    for (size_t changes = 1 + mutator.draw(2); changes != 0; --changes)
      mutateMessage(mutator, message);
    message.clear_hash();
    verify(message);
    replaceFile(package + "/package.pb", meshwright::sealPackage(message.SerializeAsString()));
    return run({package, "--feed=" + samples.feed}, log);
  }

  Outcome tryTensors(Mutator &mutator, const std::string &folder, const std::string &log) const {
    bool isInit = mutator.draw(2) == 0;
    std::string path = folder + "/mutant.safetensors";
    writeWhole(path, mutateTensors(mutator, isInit ? samples.init : samples.feed));
    return isInit ? run({samples.package, "--feed=" + samples.feed, "--init=" + path}, log)
                  : run({samples.package, "--feed=" + path}, log);
  }

  /// Damages one file of a checkpoint. Checksums find almost every damage, so one in ten stays as it is: were those
  /// refused too, the refusals of the others would show nothing.
  Outcome tryCheckpoint(Mutator &mutator, const std::string &folder, const std::string &log) const {
    std::string checkpoint = folder + "/checkpoint";
    std::filesystem::copy(samples.checkpoint, checkpoint, std::filesystem::copy_options::recursive);
    std::vector<std::string> files;
    for (const auto &entry : std::filesystem::recursive_directory_iterator(checkpoint))
      if (entry.is_regular_file())
        files.push_back(entry.path().string());
    std::sort(files.begin(), files.end());
    const std::string &file = files[mutator.draw(files.size())];
    if (mutator.draw(10) != 0)
      writeWhole(file,
                 file.ends_with(".safetensors") ? mutateTensors(mutator, file) : mutator.mutateBytes(readWhole(file)));
    return run({samples.package, "--feed=" + samples.feed, "--checkpoint=" + checkpoint, "--resume", "--steps=2"}, log);
  }

private:
  /// The proof says something of every package, and does not end the process.
  static void verify(const meshwright::Package &package) {
    meshwright::verify::Report report = meshwright::verify::verifyPackage(package, uint64_t(1) << 20);
    meshwright::verify::formatText(report);
    meshwright::verify::formatJson(report, "");
  }

  static Outcome run(std::vector<std::string> arguments, const std::string &log) {
    arguments.insert(arguments.end(), {"--quiet", "--timeout=10", "--flight-recorder=" + log + ".flight"});
    return judge(runRuntime(arguments, log), log);
  }

  const Samples &samples;
};

} // namespace

std::vector<Strain> meshwright::test::makePackageStrains(const Samples &samples) {
  auto bind = [&samples](auto method) {
    return [&samples, method](Mutator &mutator, const std::string &folder, const std::string &log) {
      return (PackageTrials(samples).*method)(mutator, folder, log);
    };
  };
  return {{"package", 1000, bind(&PackageTrials::tryBytes), 0.03},
          {"fields", 1500, bind(&PackageTrials::tryFields), 0.1},
          {"tensors", 800, bind(&PackageTrials::tryTensors), 0.02},
          {"checkpoint", 200, bind(&PackageTrials::tryCheckpoint), 0.05}};
}
