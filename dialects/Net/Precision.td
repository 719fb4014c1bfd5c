//===- Precision.td - what operations tell about 16-bit floats ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECTS_NET_PRECISION_TD
#define MESHWRIGHT_DIALECTS_NET_PRECISION_TD

include "mlir/IR/OpBase.td"

def PrecisionOpInterface : OpInterface<"PrecisionOpInterface"> {
  let cppNamespace = "::meshwright::net";
  let description = [{
    Selects the type in which mixed precision computes an operation. An operation without this interface keeps the type
    that the network gives it.
  }];
  let methods = [
    InterfaceMethod<"Returns the operation's class; a pure function of its attributes.", "::meshwright::net::Precision",
      "getPrecision">
  ];
}

#endif
