//===- ConversionInterface.td - what all conversions share ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECTS_DIST_CONVERSIONINTERFACE_TD
#define MESHWRIGHT_DIALECTS_DIST_CONVERSIONINTERFACE_TD

include "mlir/IR/OpBase.td"

def ConversionOpInterface : OpInterface<"ConversionOpInterface"> {
  let cppNamespace = "::meshwright::dist";
  let description = [{
    A conversion of a value between two placements, acting on what a rank holds. It carries both placements and the
    value's global shape, so that it can be checked, costed and executed without its surroundings.
  }];
  let methods = [
    InterfaceMethod<"What the rank holds before.", "::mlir::Value", "getInput">,
    InterfaceMethod<"The axes on which the two placements differ.", "::mlir::ArrayAttr", "getAxes">,
    InterfaceMethod<"The placement before.", "::meshwright::dist::MappingAttr", "getFrom">,
    InterfaceMethod<"The placement after.", "::meshwright::dist::MappingAttr", "getTo">,
    InterfaceMethod<"The global shape.", "::llvm::ArrayRef<int64_t>", "getShape">,
    InterfaceMethod<"Whether ranks exchange data; otherwise every rank computes by itself.", "bool", "isCollective">
  ];
}

#endif
