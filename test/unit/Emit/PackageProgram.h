//===- PackageProgram.h - a package, run with tensors -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TEST_UNIT_EMIT_PACKAGEPROGRAM_H
#define MESHWRIGHT_TEST_UNIT_EMIT_PACKAGEPROGRAM_H

#include "test/lib/Evaluate/Tensor.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <string>

namespace meshwright::test {

/// All ranks of a package in this process, with whole tensors going in and coming out. Errors are those of the runtime.
class PackageProgram {
public:
  static llvm::Expected<PackageProgram> open(const std::string &folder);
  PackageProgram(PackageProgram &&) noexcept;
  ~PackageProgram();

  void setVariable(const std::string &name, const evaluate::Tensor &whole);
  /// The whole value of a variable, which all ranks that hold it agree on.
  llvm::Expected<evaluate::Tensor> getVariable(const std::string &name, mlir::RankedTensorType type);
  /// Runs a step from whole inputs to whole results of those types, which all ranks that hold them agree on.
  llvm::Expected<std::vector<evaluate::Tensor>> run(llvm::ArrayRef<evaluate::Tensor> inputs, mlir::TypeRange results);

private:
  struct Implementation;
  explicit PackageProgram(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> implementation;
};

} // namespace meshwright::test

#endif
