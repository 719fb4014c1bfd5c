//===- CheckEvaluation.cpp - programs in the memory of others -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/Package.h"
#include "meshwright/runtime/Slots.h"
#include <map>

using namespace meshwright;
using namespace meshwright::runtime;

namespace {

/// Checks the two programs of one rank.
class PairChecker {
public:
  PairChecker(const Program &trained, const Program &evaluated) : trained(trained), evaluated(evaluated) {}

  /// Both have one arena.
  Status checkArenas() const {
    if (trained.arena_bytes() == evaluated.arena_bytes() && trained.host_arena_bytes() == evaluated.host_arena_bytes())
      return {};
    return inputError("its arenas have {} and {} bytes, but those that it shares {} and {}", evaluated.arena_bytes(),
                      evaluated.host_arena_bytes(), trained.arena_bytes(), trained.host_arena_bytes());
  }

  /// Variable `own` of the one program is `other` of the other, and in its place.
  Status checkPlace(int own, int other, const std::string &name) const {
    int32_t place = evaluated.variable_buffers(own), otherPlace = trained.variable_buffers(other);
    if (place == -1 && otherPlace == -1)
      return {};
    if (place == -1 || otherPlace == -1)
      return inputError("variable \"{}\" has a place in one program alone", name);
    const Buffer &buffer = evaluated.buffers(place), &otherBuffer = trained.buffers(otherPlace);
    if (buffer.offset() == otherBuffer.offset() && buffer.memory() == otherBuffer.memory() &&
        buffer.bytes() == otherBuffer.bytes())
      return {};
    return inputError("variable \"{}\" is at {} of {} bytes, but at {} of {} where it is trained", name,
                      buffer.offset(), buffer.bytes(), otherBuffer.offset(), otherBuffer.bytes());
  }

  /// Nothing is written where the other program keeps something.
  Status checkWrites() const {
    for (int32_t input : evaluated.input_buffers())
      if (input != -1)
        MW_TRY(checkWrite(static_cast<uint32_t>(input)).within("an input"));
    for (const Constant &constant : evaluated.constants())
      MW_TRY(checkWrite(constant.buffer()).within("a constant"));
    for (const Task &task : evaluated.tasks())
      for (const Instruction &instruction : task.instructions()) {
        Status status;
        forEachAccess(instruction, [&](uint32_t buffer, bool isWrite) {
          if (isWrite && status.ok())
            status = checkWrite(buffer);
        });
        MW_TRY(status.within(fmt::format("\"{}\"", instruction.name())));
      }
    return {};
  }

private:
  Status checkWrite(uint32_t index) const {
    const Buffer &buffer = evaluated.buffers(static_cast<int>(index));
    uint64_t kept = buffer.memory() == HOST ? trained.host_arena_bytes() : trained.persistent_bytes();
    if (buffer.bytes() == 0 || buffer.offset() >= kept)
      return {};
    return inputError("writes buffer {} at {}, where the first {} bytes are kept from step to step", index,
                      buffer.offset(), kept);
  }

  const Program &trained, &evaluated;
};

/// For every variable of `evaluation` the number of that of `package`, which is of the same type and placement.
Result<std::vector<int>> findVariables(const meshwright::Package &package, const meshwright::Package &evaluation) {
  std::map<std::string, int> numbers;
  for (int i = 0; i != package.variables_size(); ++i)
    numbers.emplace(package.variables(i).name(), i);
  std::vector<int> found;
  for (const Variable &variable : evaluation.variables()) {
    auto known = numbers.find(variable.name());
    if (known == numbers.end())
      return inputError("variable \"{}\" is not one of those that are trained", variable.name());
    const Variable &other = package.variables(known->second);
    bool isEqual =
        variable.dtype() == other.dtype() &&
        std::equal(variable.shape().begin(), variable.shape().end(), other.shape().begin(), other.shape().end()) &&
        variable.placement().SerializeAsString() == other.placement().SerializeAsString();
    if (!isEqual)
      return inputError("variable \"{}\" has another type or placement than where it is trained", variable.name());
    found.push_back(known->second);
  }
  return found;
}

} // namespace

Status meshwright::runtime::checkEvaluation(const meshwright::Package &package, const meshwright::Package &evaluation) {
  MW_TRY_ASSIGN(std::vector<int> variables, findVariables(package, evaluation));
  auto check = [&](const Program &trained, const Program &evaluated) -> Status {
    PairChecker checker(trained, evaluated);
    MW_TRY(checker.checkArenas());
    for (size_t own = 0; own != variables.size(); ++own)
      MW_TRY(checker.checkPlace(static_cast<int>(own), variables[own],
                                evaluation.variables(static_cast<int>(own)).name()));
    return checker.checkWrites();
  };
  for (int rank = 0; rank != package.program_of_rank_size(); ++rank)
    MW_TRY(check(package.programs(static_cast<int>(package.program_of_rank(rank))),
                 evaluation.programs(static_cast<int>(evaluation.program_of_rank(rank))))
               .within(fmt::format("rank {}", rank)));
  if (package.has_serial() && evaluation.has_serial())
    return check(package.serial(), evaluation.serial()).within("serial program");
  return {};
}
