//===- OperandVersions.h - operands that products share ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_EXECUTE_OPERANDVERSIONS_H
#define MESHWRIGHT_RUNTIME_EXECUTE_OPERANDVERSIONS_H

#include "package.pb.h"
#include <array>

namespace meshwright::runtime {

/// Numbers the right operands of products in a sequence of instructions, each done before the next. Products have the
/// same number if they read the same range of the device's arena and nothing writes to it in between.
class OperandVersions {
public:
  explicit OperandVersions(const Program &program) : program(program) {}

  /// Begins a sequence, for a micro-batch. It shares no number with those before.
  void begin(uint32_t ofMicroBatch);
  /// Goes on with an instruction. Returns the number of its right operand if it is a product, else 0.
  uint64_t next(const Instruction &instruction);

private:
  struct Version {
    uint64_t begin = 0, end = 0, number = 0; ///< of no bytes where there is none
  };
  uint64_t find(const Buffer &buffer);
  void forget(const Buffer &written);

  const Program &program;
  uint32_t microBatch = 0;
  /// The operands that were read last. Few live at a time: those of the products of one loop.
  std::array<Version, 8> known;
  uint64_t last = 0;
};

} // namespace meshwright::runtime

#endif
