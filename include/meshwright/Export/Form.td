//===- Form.td - the form of an operation in StableHLO --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_EXPORT_FORM_TD
#define MESHWRIGHT_EXPORT_FORM_TD

include "mlir/IR/OpBase.td"

def StableHLOFormInterface : OpInterface<"StableHLOFormInterface"> {
  let cppNamespace = "::meshwright::exporter";
  let description = [{
    Writes an operation on tensors of local shape as operations of StableHLO. An operation without this interface cannot
    be exported.
  }];
  let methods = [
    InterfaceMethod<[{
        Writes the operations that compute the results, and returns a term per result. Operands are known to the writer.
        Fails after an error at the operation.}],
      "::mlir::FailureOr<::llvm::SmallVector<::meshwright::exporter::Term>>", "writeStableHLO",
      (ins "::meshwright::exporter::Writer &":$writer)>
  ];
}

#endif
