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
    How an operation is differentiated in reverse. An operation without this interface is an error where a gradient has to
    pass it, and nowhere else.
  }];
  let methods = [InterfaceMethod<[{
        Builds the cotangents of the operands at the builder's insertion point and returns one value per operand.
        `cotangents` has one value per result, null where it is zero; not all of them are. `wanted` says which operands
        need a cotangent; a null value is returned for the others and where it is zero. A cotangent has the type of what it
        belongs to, and only values of floats have one. An operation that cannot be differentiated as it stands emits an
        error and fails.}],
                                 "::mlir::FailureOr<::llvm::SmallVector<::mlir::Value>>", "differentiate",
                                 (ins "::mlir::OpBuilder &":$builder, "::llvm::ArrayRef<::mlir::Value>":$cotangents,
                                     "const ::llvm::BitVector &":$wanted)>];
}

#endif
