//===- ProductPlan.h - products as calls of cuBLASLt ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cuBLASLt multiplies column-major matrices, transposed or not, with one stride between columns and one between the
// matrices of a batch. A product of the schema may have any strides and several batch dimensions.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_DEVICES_CUDA_PRODUCTPLAN_H
#define MESHWRIGHT_RUNTIME_DEVICES_CUDA_PRODUCTPLAN_H

#include "meshwright/runtime/MatmulProblem.h"
#include "meshwright/runtime/Status.h"
#include "package.pb.h"
#include <optional>

namespace meshwright::runtime::cuda {

/// A matrix in memory: column-major, or the transpose of one.
struct StridedMatrix {
  bool isTransposed = false;
  int64_t leading = 1; ///< elements between the columns as they lie in memory
  int64_t batch = 0;   ///< elements between the matrices of the batch; 0 repeats one
  auto operator<=>(const StridedMatrix &) const = default;
};

/// The operation on d before it is stored.
struct LtEpilogue {
  bool hasBias = false; ///< one element for each row of d, the same for all of a batch
  bool hasGelu = false;
  bool hasAux = false; ///< what the GELU is taken of is stored too, as d is
  auto operator<=>(const LtEpilogue &) const = default;
};

/// d[m, n] = a[m, k] * b[k, n] for each of a batch; d is not transposed.
struct LtShape {
  DType aType, bType, dType;
  int64_t m, n, k, batch = 1;
  StridedMatrix a, b, d;
  LtEpilogue epilogue = {};
  /// Whether arrays in the device's memory have the addresses of the matrices of a batch; then strides do not count.
  bool isByAddress = false;
  auto operator<=>(const LtShape &) const = default;
};

/// Where the operands of a call begin, in elements from the beginnings of the product's.
struct LtOffsets {
  int64_t lhs = 0, rhs = 0, out = 0;
};

/// A product as calls of one shape. Where `isSwapped`, `out` lies transposed, and so a is the right operand and b the
/// left one.
struct ProductPlan {
  LtShape shape;
  bool isSwapped = false;
  std::vector<LtOffsets> calls; ///< none where the product has no elements

  /// All calls as one, whose matrices are told by their addresses: `calls` has where each begins. It has no epilogue.
  ProductPlan join() const;
};

/// Plans a product. The longest of its batch dimensions becomes the batch of the calls, the others become calls, which
/// `join` makes one. Where an operand has a unit stride in neither dimension, one of them becomes a batch dimension.
///
/// Errors: element types that cuBLASLt does not multiply, a sum over nothing, and an operand that is repeated along the
/// sum.
Result<ProductPlan> planProduct(const MatmulProblem &problem);

/// The epilogue of a checked product in a plan's calls; nullopt where they cannot have it, because the bias
/// does not go along the rows of d, or because columns of d are not as far apart as those of an auxiliary matrix have
/// to be.
std::optional<LtEpilogue> planEpilogue(const Matmul &matmul, const LtShape &shape);

} // namespace meshwright::runtime::cuda

#endif
