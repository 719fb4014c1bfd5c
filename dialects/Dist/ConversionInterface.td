//===- ConversionInterface.td - interface of conversions ------------------===//
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
    Converts the local part of a value from one placement to another. The operation carries both placements and the
    value's global shape, so that it can be verified, costed and executed without looking at other operations.
  }];
  let methods = [
    InterfaceMethod<"The local part before the conversion.", "::mlir::Value", "getInput">,
    InterfaceMethod<"The axes on which the two placements differ.", "::mlir::ArrayAttr", "getAxes">,
    InterfaceMethod<"The placement before the conversion.", "::meshwright::dist::MappingAttr", "getFrom">,
    InterfaceMethod<"The placement after the conversion.", "::meshwright::dist::MappingAttr", "getTo">,
    InterfaceMethod<"The global shape of the value.", "::llvm::ArrayRef<int64_t>", "getShape">,
    InterfaceMethod<"True if ranks exchange data; false if every rank computes its result alone.", "bool",
      "isCollective">
  ];
}

#endif
