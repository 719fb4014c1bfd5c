//===- Given.td - operations of the given dialect -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECTS_GIVEN_GIVEN_TD
#define MESHWRIGHT_DIALECTS_GIVEN_GIVEN_TD

include "dialects/Given/GivenBase.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Given_ConstrainOp : Op<Given_Dialect, "constrain", [Pure, Elementwise, SameOperandsAndResultType]> {
  let summary = "returns its operand, and states how it is split";
  let description = [{
    The result is kept in `sharding`; all values with the same `group` are kept in one placement. The operation computes
    nothing: Partition puts the operand in its place, and in a serial program it says nothing.

    - **C1**: operand and result have the same type.
    - **C2**: there is a sharding or a group, and the sharding has one entry per dimension.

    Example: `%1 = given.constrain %0 to <[{"dp"}, {"tp", ?}p1]> : tensor<8x4xf32>`
  }];
  let arguments = (ins AnyStaticShapeTensor:$operand, OptionalAttr<Given_ShardingAttr>:$sharding,
                       OptionalAttr<I64Attr>:$group);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "$operand (`to` $sharding^)? (`group` $group^)? attr-dict `:` type($result)";
  let hasVerifier = 1;
}

#endif
