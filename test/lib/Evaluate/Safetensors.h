//===- Safetensors.h - tensors in files -------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TEST_LIB_EVALUATE_SAFETENSORS_H
#define MESHWRIGHT_TEST_LIB_EVALUATE_SAFETENSORS_H

#include "test/lib/Evaluate/Tensor.h"
#include "llvm/Support/Error.h"
#include <map>
#include <string>

namespace meshwright::evaluate {

/// Reads every tensor of a safetensors file. Unsigned integers get unsigned types, booleans i1.
llvm::Expected<std::map<std::string, Tensor>> readSafetensors(llvm::StringRef path, mlir::MLIRContext *context);

/// Writes tensors in the order of their names.
llvm::Error writeSafetensors(llvm::StringRef path, const std::map<std::string, Tensor> &tensors);

} // namespace meshwright::evaluate

#endif
