//===- Interfaces.td - what operations tell the compiler about themselves -===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECTS_DIST_INTERFACES_TD
#define MESHWRIGHT_DIALECTS_DIST_INTERFACES_TD

include "mlir/IR/OpBase.td"

def ShardingOpInterface : OpInterface<"ShardingOpInterface"> {
  let cppNamespace = "::meshwright::dist";
  let description = [{
    How an operation may be split over ranks, and what it becomes when it is. An operation without this
    interface is computed whole on every rank.
  }];
  let methods = [
    InterfaceMethod<"Returns the operation's factors and how partial values pass it; a pure function of types and attributes.",
      "::meshwright::dist::ShardingRule", "getShardingRule">,
    InterfaceMethod<[{
        Builds the operation of one rank from operands of local shape and returns its local results. The default clones
        it with local result types, which is right where no attribute speaks of sizes or positions.}],
      "::mlir::FailureOr<::llvm::SmallVector<::mlir::Value>>", "localize", (ins "::meshwright::dist::Localizer &":$localizer),
      "", [{ return localizer.clone($_op); }]>
  ];
}

def CostOpInterface : OpInterface<"CostOpInterface"> {
  let cppNamespace = "::meshwright::dist";
  let description = [{
    What an operation costs at the shapes it has now. Without this interface an operation costs one floating-point operation
    per element of its results.
  }];
  let methods = [
    InterfaceMethod<"Returns the number of floating-point operations; a multiply-add counts two.", "int64_t", "getFlops">
  ];
}

def KernelOpInterface : OpInterface<"KernelOpInterface"> {
  let cppNamespace = "::meshwright::dist";
  let description = [{
    How an operation on tensors of local shape is computed: by operations of linalg, arith, math and tensor that the code
    generator fuses with its neighbours. An operation that a library computes does not have this interface.
  }];
  let methods = [
    InterfaceMethod<[{
        Builds the computation from `operands`, tensors of signless element types, and returns the results. Order of sums and
        contraction are fixed here, so that an operation has the same bits in whatever cluster it lands.}],
      "::mlir::FailureOr<::llvm::SmallVector<::mlir::Value>>", "lowerToLinalg",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$operands)>
  ];
}

#endif
