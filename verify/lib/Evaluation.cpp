//===- Evaluation.cpp - programs in the memory of others ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Program.h"
#include <algorithm>
#include <fmt/format.h>

using namespace meshwright;
using namespace meshwright::verify;

namespace {

class EvaluationChecker {
public:
  EvaluationChecker(const CheckedProgram &trained, const CheckedProgram &evaluated, Findings &findings)
      : trained(trained), evaluated(evaluated), findings(findings) {}

  void check() {
    const Program &own = *evaluated.program, &other = *trained.program;
    if (own.arena_bytes() != other.arena_bytes() || own.host_arena_bytes() != other.host_arena_bytes())
      fail(getWhere(evaluated, 0), "has arenas of {} and {} bytes, where training has {} and {}", own.arena_bytes(),
           own.host_arena_bytes(), other.arena_bytes(), other.host_arena_bytes());
    checkVariables();
    for (int32_t buffer : own.input_buffers())
      if (buffer != -1)
        checkWrite(getPlace(evaluated.getBuffer(static_cast<uint32_t>(buffer))), getWhere(evaluated, 0), "an input");
    for (const Constant &constant : own.constants())
      checkWrite(getPlace(evaluated.getBuffer(constant.buffer())), getWhere(evaluated, 0), "a constant");
    for (uint32_t position : listVariants(*evaluated.package))
      forEachExecuted(evaluated, position, [&](const Executed &executed) {
        for (const Access &access : executed.checked->accesses)
          if (access.isWrite)
            checkWrite(shift(access.bytes, getAddress(evaluated, access.buffer, executed)),
                       getWhere(evaluated, position, executed), "a result");
      });
  }

private:
  void fail(const Where &where, const std::string &message) { findings.add(Property::Definition, where, message); }
  template <typename... Args> void fail(const Where &where, fmt::format_string<Args...> format, Args &&...args) {
    findings.add(Property::Definition, where, fmt::format(format, std::forward<Args>(args)...));
  }

  static Range getPlace(const Buffer &buffer) { return shift({0, buffer.bytes()}, getAddress(buffer)); }

  /// An evaluation finds its variables where training keeps them.
  void checkVariables() {
    std::map<std::string, int> numbers;
    for (int i = 0; i != trained.package->variables_size(); ++i)
      numbers.emplace(trained.package->variables(i).name(), i);
    for (int i = 0; i != evaluated.package->variables_size(); ++i) {
      const std::string &name = evaluated.package->variables(i).name();
      auto number = numbers.find(name);
      int32_t own = evaluated.program->variable_buffers(i);
      int32_t other = number == numbers.end() ? -1 : trained.program->variable_buffers(number->second);
      if (own == -1)
        continue;
      if (other == -1 || getPlace(evaluated.getBuffer(static_cast<uint32_t>(own))) !=
                             getPlace(trained.getBuffer(static_cast<uint32_t>(other))))
        fail(getWhere(evaluated, 0), "variable \"{}\" is in buffer {}, where training does not keep it", name, own);
    }
  }

  void checkWrite(Range place, const Where &where, const char *what) {
    uint64_t kept =
        place.begin >= hostBase ? hostBase + trained.program->host_arena_bytes() : trained.program->persistent_bytes();
    if (!place.isEmpty() && place.begin < kept)
      fail(where, "{} is written to bytes [{}, {}), where training keeps the first {}", what, place.begin % hostBase,
           place.end % hostBase, kept % hostBase);
  }

  const CheckedProgram &trained, &evaluated;
  Findings &findings;
};

} // namespace

void verify::checkEvaluation(const CheckedProgram &trained, const CheckedProgram &evaluated, Findings &findings) {
  EvaluationChecker(trained, evaluated, findings).check();
}
