//===- Verify.h - proofs about packages -------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Proves properties of a package without running it. The code shares the schema (package.proto) with the compiler that
// writes packages and the runtime that executes them, and nothing else, so that a mistake of theirs is not repeated
// here. docs/reference/verify.md defines the properties.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_VERIFY_VERIFY_H
#define MESHWRIGHT_VERIFY_VERIFY_H

#include "package.pb.h"
#include <cstdint>
#include <string>
#include <vector>

namespace meshwright::verify {

/// Part of the proof that a finding breaks.
enum class Property : unsigned char {
  Structure,  ///< indices, sizes and loops make sense; nothing else is looked at where they do not
  Definition, ///< every byte that is read has been written, as the value that is meant
  Flight,     ///< nothing touches what an asynchronous launch has under way
  Order,      ///< members of a group issue the same, and every rank comes to the end of the step
};
/// As in output: `structure`, `definition`, `flight`, `order`.
const char *getName(Property property);

/// The place of an instruction. Text is empty, and `instruction` negative, where a finding has no such place.
struct Where {
  std::string program; ///< `program 3`, `serial program`, `evaluation: program 0`
  std::string ranks;   ///< `0-3, 6`
  std::string task;
  int instruction = -1; ///< its number in the task
  std::string name, location;
  uint32_t position = 0;   ///< of the step in its accumulation
  uint32_t microBatch = 0; ///< of the item of the schedule
};

struct Finding {
  Property property;
  Where where;
  std::string message; ///< one sentence, lower-case start, no full stop
};

/// Memory of one arena, in bytes.
struct Peak {
  uint64_t arena = 0;   ///< as the program states it
  uint64_t highest = 0; ///< one more than the highest byte that is touched or kept
  uint64_t live = 0;    ///< most bytes at one instruction: what persists, and values that are still read
  Where where;          ///< that instruction
};

struct ProgramReport {
  std::string name, ranks;
  uint64_t instructions = 0; ///< executed in the steps that were followed, one of each variant
  uint64_t reads = 0;        ///< accesses
  uint64_t writes = 0;
  uint64_t launches = 0; ///< collectives and copies that are started and waited for later
  Peak device, host;
  /// Instructions, of the first execution, whose results no later instruction reads and no step keeps.
  std::vector<Where> unread;
  /// Reads, of the first execution, of persistent memory that is no variable and that the step has not written yet:
  /// what the step before left there is read, and only evaluation shows that it makes no difference.
  std::vector<Where> assumed;
};

struct Report {
  std::vector<ProgramReport> programs;
  std::vector<Finding> findings;
  uint64_t numFindings = 0;    ///< those included that are not listed
  uint64_t byProperty[4] = {}; ///< the same for each property
  uint64_t collectives = 0;    ///< that took place in the simulation of all ranks, one step of each variant
  int64_t ranks = 0;
  uint32_t variants = 0; ///< of the step
  bool ok() const { return numFindings == 0; }
};

struct Options {
  /// So many findings are listed; all are counted.
  size_t maxFindings = 50;
};

/// Proves what can be proved of a package; never fails on damaged ones. `constantsBytes` is the size of constants.bin.
Report verifyPackage(const Package &package, uint64_t constantsBytes, const Options &options = {});

/// Reads `package.pb` of a folder with the size of `constants.bin` and checks both hashes. Returns an error message, or
/// an empty text.
std::string readPackage(const std::string &folder, Package &package, uint64_t &constantsBytes);

/// The report for people and, in one object, for programs.
std::string formatText(const Report &report);
std::string formatJson(const Report &report, const std::string &folder);

} // namespace meshwright::verify

#endif
