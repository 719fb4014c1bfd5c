//===- Fold.td - simpler forms of operations ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECTS_NET_FOLD_TD
#define MESHWRIGHT_DIALECTS_NET_FOLD_TD

include "mlir/IR/OpBase.td"

def FoldOpInterface : OpInterface<"FoldOpInterface"> {
  let cppNamespace = "::meshwright::net";
  let description = [{
    The simpler value that an operation with one result equals. MLIR's own `fold` may make constants alone; most simpler
    forms here are other operations. An operation without this interface stays as it is.
  }];
  let methods = [InterfaceMethod<[{
        Returns a simpler value that equals the result, built at the builder's insertion point where it is new; null if there
        is none. The operands have been folded before. Only the operation and the makers of its operands are inspected.}],
                                 "::mlir::Value", "simplify", (ins "::mlir::OpBuilder &":$builder)>];
}

#endif
