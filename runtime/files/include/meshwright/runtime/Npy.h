//===- Npy.h - numpy's array files ------------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_NPY_H
#define MESHWRIGHT_RUNTIME_NPY_H

#include "meshwright/runtime/Tensor.h"

namespace meshwright::runtime {

/// The array of a `.npy` file whose bytes these are; the view points into them. Little-endian and row-major arrays of
/// booleans, integers and floats; others are an error that says what was found.
Result<TensorView> readNpy(std::span<const std::byte> bytes);

} // namespace meshwright::runtime

#endif
