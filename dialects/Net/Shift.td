//===- Shift.td - dependence on a subtracted maximum ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECTS_NET_SHIFT_TD
#define MESHWRIGHT_DIALECTS_NET_SHIFT_TD

include "mlir/IR/OpBase.td"

def ShiftOpInterface : OpInterface<"ShiftOpInterface"> {
  let cppNamespace = "::meshwright::net";
  let description = [{
    How the result of an operation depends on a shift m that its operands depend on; see `ShiftDependence`. Train proves with
    it that a loss does not depend on the maximum that a softmax subtracts. Nothing is proved through an operation without
    this interface.
  }];
  let methods = [InterfaceMethod<[{
        Returns the dependence of the only result. `operands` has one entry per operand, null where it does not depend on m;
        not all of them are null. Returns nothing where the dependence is of neither form.}],
                                 "::std::optional<::meshwright::net::ShiftDependence>", "transferShift",
                                 (ins "::llvm::ArrayRef<const ::meshwright::net::ShiftDependence *>":$operands)>];
}

#endif
