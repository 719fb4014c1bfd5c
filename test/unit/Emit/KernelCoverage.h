//===- KernelCoverage.h - counts of kernel forms ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TEST_UNIT_EMIT_KERNELCOVERAGE_H
#define MESHWRIGHT_TEST_UNIT_EMIT_KERNELCOVERAGE_H

#include "dialects/Dist/Dist.h"
#include "dialects/Dist/Interfaces.h"
#include "dialects/Net/Net.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <map>
#include <string>
#include <vector>

namespace meshwright::test {

/// Counts the operations of kernels, and the forms in which a step reads and writes memory.
class KernelCoverage {
public:
  KernelCoverage();

  /// Adds a module that has been through Schedule.
  void add(mlir::ModuleOp module);

  /// The forms that never occurred.
  std::vector<std::string> findMissing() const;
  /// The number of different operations in kernels.
  int64_t getNumOperations() const { return static_cast<int64_t>(operations.size()); }
  std::string print() const;

private:
  void addKernel(dist::KernelOp kernel);
  void addMatmul(dist::MatmulOp op);
  void addState(mlir::func::FuncOp func);
  void count(const std::string &form) { ++forms[form]; }

  /// By name; every form that has to occur has an entry.
  std::map<std::string, int64_t> forms;
  std::map<std::string, int64_t> operations;
};

} // namespace meshwright::test

#endif
