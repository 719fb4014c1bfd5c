//===- Batch.td - operations on batches of operands -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECTS_NET_BATCH_TD
#define MESHWRIGHT_DIALECTS_NET_BATCH_TD

include "mlir/IR/OpBase.td"

def BatchOpInterface : OpInterface<"BatchOpInterface"> {
  let cppNamespace = "::meshwright::net";
  let description = [{
    How an operation is done for many operands at once, along dimensions before all others; see `Batch`. Import views a
    computation per rank so, with a dimension for each axis of the mesh. An elementwise operation needs no interface.
  }];
  let methods = [InterfaceMethod<[{
        Builds what computes every member of the batch, and returns the results with the dimensions of the batch first.}],
                                 "::llvm::SmallVector<::mlir::Value>", "batch",
                                 (ins "::meshwright::net::Batch &":$batch)>];
}

#endif
