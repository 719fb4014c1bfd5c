//===- Options.cpp - the command line of dist-ckpt ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Options.h"
#include <charconv>

using namespace meshwright::runtime;
using namespace meshwright::tool;

static Result<uint64_t> parseCount(const std::string &name, const std::string &text) {
  uint64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    return usageError("--{}: \"{}\" is no whole number", name, text);
  return value;
}

static Status applyOption(CheckpointOptions &options, const std::string &name, const std::string *value) {
  bool isFlag = name == "parameters" || name == "help" || name == "version";
  if (!isFlag && name != "shard" && name != "step" && name != "dtype")
    return usageError("there is no option --{} (dist-ckpt --help lists them)", name);
  if (isFlag == (value != nullptr))
    return isFlag ? usageError("--{} takes no value", name)
                  : usageError("--{} wants ={}", name, name == "dtype" ? "TYPE" : "N");
  if (isFlag) {
    (name == "parameters" ? options.parameters : name == "help" ? options.help : options.version) = true;
    return {};
  }
  if (name == "dtype") {
    auto type = parseFloatType(*value);
    MW_TRY(type.status().within("--dtype"));
    options.type = *type;
    return {};
  }
  MW_TRY_ASSIGN((name == "shard" ? options.shard : options.step), parseCount(name, *value));
  return {};
}

Result<CheckpointOptions> meshwright::tool::parseOptions(int argc, const char *const *argv) {
  CheckpointOptions options;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    if (argument.starts_with("-") && argument != "-") {
      argument.erase(0, argument.starts_with("--") ? 2 : 1);
      size_t equals = argument.find('=');
      std::string value = equals == std::string::npos ? "" : argument.substr(equals + 1);
      MW_TRY(applyOption(options, argument.substr(0, equals), equals == std::string::npos ? nullptr : &value));
    } else if (options.command.empty()) {
      options.command = argument;
    } else {
      options.paths.push_back(argument);
    }
  }
  if (options.help || options.version)
    return options;
  bool converts = options.command == "export" || options.command == "import";
  if (!converts && options.command != "list" && options.command != "verify")
    return usageError("\"{}\" is none of list, verify, export and import (dist-ckpt --help says more)",
                      options.command);
  if (options.type && options.command != "export")
    return usageError("--dtype={} is of export, but {} changes no type", getName(*options.type), options.command);
  if (options.paths.size() != (converts ? 2 : 1))
    return usageError("{} wants {} and {} given", options.command, converts ? "two paths" : "a path",
                      options.paths.size() == 1 ? "1 is" : fmt::format("{} are", options.paths.size()));
  return options;
}

std::string meshwright::tool::getHelp() {
  return R"(usage: dist-ckpt COMMAND ... [options]

Works on the checkpoints that dist-run writes. CHECKPOINT is one of them, or a folder of them, of which the newest is meant.

Commands:
  list CHECKPOINT            the variables, or of a folder the checkpoints
  verify CHECKPOINT          compare the checksums of all files; of a folder, of all checkpoints
  export CHECKPOINT OUT      write whole tensors: into OUT if it ends with .safetensors, else into files in the folder OUT
                             with model.safetensors.index.json
  import IN FOLDER           make a checkpoint in FOLDER from such a file or folder

Options:
  --parameters               export what an exported network needs: parameters and buffers
  --dtype=TYPE               export floats as TYPE (bf16, f16, f32, ...), each rounded once, to nearest even; what is too
                             large for it is an error
  --shard=N                  the bytes of a file of a folder that is exported, unless a tensor has more (5000000000)
  --step=N                   the step of the checkpoint that is made (0)
  --help                     this text
  --version                  the version

Exit status: 0 done; 1 the input is at fault; 2 wrong usage; 3 a check failed; 4 a fault while running.
)";
}
