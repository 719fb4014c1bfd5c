//===- Common.td - what networks and their distribution share -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECTS_COMMON_COMMON_TD
#define MESHWRIGHT_DIALECTS_COMMON_COMMON_TD

include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

// Reductions of a network, partial placements and collectives reduce alike.
def ReduceKind : I32Enum<"ReduceKind", "how several values become one", [
    I32EnumCase<"Sum", 0, "sum">,
    I32EnumCase<"Product", 1, "product">,
    I32EnumCase<"Max", 2, "max">,
    I32EnumCase<"Min", 3, "min">,
    I32EnumCase<"And", 4, "and">,
    I32EnumCase<"Or", 5, "or">,
    // A sum by a fixed binary tree over equal parts; of placements and collectives alone.
    I32EnumCase<"Tree", 6, "tree">]> {
  let cppNamespace = "::meshwright";
}

// Classes of operations, by which passes choose; see dialects/Common/Traits.h.
class CommonTrait<string name> : NativeOpTrait<name> {
  let cppNamespace = "::meshwright";
}
def Computation : CommonTrait<"Computation">;
def AlwaysAvailable : CommonTrait<"AlwaysAvailable">;

#endif
