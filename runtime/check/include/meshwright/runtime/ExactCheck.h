//===- ExactCheck.h - the programs in exact arithmetic ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_EXACTCHECK_H
#define MESHWRIGHT_RUNTIME_EXACTCHECK_H

#include "meshwright/runtime/Feeder.h"

namespace meshwright::runtime {

/// A value that is not what the serial program says.
struct ExactDifference {
  std::string name;
  /// Where the first element is that differs, and on which rank.
  Shape index;
  int64_t rank;
  /// That element there and in the serial program: `-3`, or `a residue` if it is no small integer.
  std::string found, expected;
  /// The elements that differ on that rank, of those that it holds.
  uint64_t differing, elements;
  /// The ranks on which elements differ.
  std::vector<int64_t> ranks;
  /// The last collectives that the value comes from there (Provenance.h).
  std::vector<std::string> collectives;

  /// As printed: `"p.w" differs in 8 of 64 elements on rank 2, first [0, 3] (0 instead of a residue); it comes from
  /// c_allreduce #17 (...)`.
  std::string toString() const;
};

/// The result of a checked step.
struct ExactReport {
  /// The numbers of variables and outputs that were compared.
  size_t variables = 0, outputs = 0;
  std::vector<ExactDifference> differences;

  /// As printed: `52 variables and 1 output are those of the serial program`; differences follow, each after
  /// `separator`.
  std::string toString(std::string_view separator) const;
};

/// Runs the serial program and the distributed ones on residues (Residue.h) from the same random variables, and
/// compares every element of every variable and output on every rank after each step. Nothing is rounded, so they are
/// equal if both programs compute the same formulas; if not, an element that depends on the difference is equal with a
/// chance of about 2^-50. Maxima and comparisons decide by an order of the residues that is another one in each step: a
/// difference that loses against a constant in one step, as beside a lower bound of 0, is seen in half of them.
///
/// Floats of variables and inputs are random residues; integers are the initial values of their variables, or random
/// numbers within the promised range of their input. Accumulators begin at zero.
class ExactCheck {
public:
  /// Makes the exact packages and prepares both. The serial program is that of `reference`, which is the same package
  /// or another one with variables, inputs and outputs of the same names, types and shapes. `options` are those of the
  /// distributed programs, on the CPU. The packages outlive the check.
  static Result<std::unique_ptr<ExactCheck>> create(const LoadedPackage &package, const LoadedPackage &reference,
                                                    SessionOptions options, uint64_t seed);
  ~ExactCheck();

  /// Runs a step of both. Inputs that the feeder of the package has values for get these; null for none. Where ranks
  /// are processes, all of them call it, and the report is that of the ranks of this one.
  Result<ExactReport> step(const Feeder *feeder);

private:
  explicit ExactCheck(const LoadedPackage &package, uint64_t seed) : original(package), seed(seed) {}
  void fillVariables();
  void fillInputs(const Feeder *feeder);
  Status compare(bool areVariables, uint32_t position, ExactReport &report);

  const LoadedPackage &original;
  std::unique_ptr<LoadedPackage> exact, exactReference;
  std::unique_ptr<Session> session, serial;
  /// For every variable, input and output of the package the number of the reference's.
  std::vector<size_t> variables, inputs, outputs;
  uint64_t seed, steps = 0;
};

} // namespace meshwright::runtime

#endif
