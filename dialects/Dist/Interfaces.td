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
    Describes how an operation may be split over ranks, and builds its part on one rank. An operation without
    this interface is computed whole on every rank.
  }];
  let methods = [
    InterfaceMethod<[{
        Returns the operation's factors and how partial values pass through it; a pure function of types and attributes.}],
      "::meshwright::dist::ShardingRule", "getShardingRule">,
    InterfaceMethod<[{
        Builds the operation of one rank from operands of local shape and returns its local results. The default clones
        the operation with local result types, which is right if no attribute holds a size or a position.}],
      "::mlir::FailureOr<::llvm::SmallVector<::mlir::Value>>", "localize", (ins "::meshwright::dist::Localizer &":$localizer),
      "", [{ return localizer.clone($_op); }]>
  ];
}

def CostOpInterface : OpInterface<"CostOpInterface"> {
  let cppNamespace = "::meshwright::dist";
  let description = [{
    The cost of an operation at its current shapes. An operation without this interface counts as one floating-point
    operation (FLOP) per element of its results.
  }];
  let methods = [
    InterfaceMethod<"Returns the number of floating-point operations; a multiply-add counts as two.", "int64_t", "getFlops">
  ];
}

def KernelOpInterface : OpInterface<"KernelOpInterface"> {
  let cppNamespace = "::meshwright::dist";
  let description = [{
    Lowers an operation on tensors of local shape to operations of linalg, arith, math and tensor, which the code
    generator fuses with its neighbours. Operations that only a library computes do not have this interface.
  }];
  let methods = [
    InterfaceMethod<[{
        Builds the computation from `operands`, tensors of signless element types, and returns the results. The lowering
        fixes the order of sums and the contraction of multiply-adds, so that the bits of a result do not depend on the
        fusion.}],
      "::mlir::FailureOr<::llvm::SmallVector<::mlir::Value>>", "lowerToLinalg",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$operands)>
  ];
}

#endif
