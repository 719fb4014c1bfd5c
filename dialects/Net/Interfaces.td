//===- Interfaces.td - what operations tell about their derivative --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECTS_NET_INTERFACES_TD
#define MESHWRIGHT_DIALECTS_NET_INTERFACES_TD

include "mlir/IR/OpBase.td"

def DerivativeOpInterface : OpInterface<"DerivativeOpInterface"> {
  let cppNamespace = "::meshwright::net";
  let description = [{
    Reverse-mode differentiation of an operation. An operation without this interface is an error only if a gradient has
    to pass through it.
  }];
  let methods = [InterfaceMethod<[{
        Builds the cotangents of the operands at the builder's insertion point and returns one value per operand.
        `cotangents` has one value per result; null stands for zero, and at least one is not null. `wanted` marks the
        operands that need a cotangent; the returned value is null for the other operands and for cotangents that are
        zero. A cotangent has the type of its value, and only values of floats have one. Emits an error and fails if
        the operation cannot be differentiated with its present attributes and types.}],
                                 "::mlir::FailureOr<::llvm::SmallVector<::mlir::Value>>", "differentiate",
                                 (ins "::mlir::OpBuilder &":$builder, "::llvm::ArrayRef<::mlir::Value>":$cotangents,
                                     "const ::llvm::BitVector &":$wanted)>];
}

#endif
