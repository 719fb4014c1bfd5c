//===- Manual.td - where a graph computes per rank ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECTS_DIST_MANUAL_TD
#define MESHWRIGHT_DIALECTS_DIST_MANUAL_TD

include "dialects/Dist/DistBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Dist_ManualBoundary<string mnem> : Op<Dist_Dialect, mnem, [Pure]> {
  let results = (outs AnyStaticShapeTensor:$result);
  let hasVerifier = 1;
}

def Dist_ToLocalOp : Dist_ManualBoundary<"to_local"> {
  let summary = "a rank's part of a whole value, where a graph begins to compute per rank";
  let description = [{
    The entry of a part of the graph that its author wrote for one rank (`shard_map`). Operations on the result compute
    with what each rank has of its own, and collectives of the graph exchange it.

    - **C1**: the mapping resolves against the module's mesh and the shape of the whole value.
    - **C2**: it only splits dimensions, and into parts of equal size.
    - **C3**: the other type is that of a part.

    Example:
    ```mlir
    %1 = dist.to_local %0 in <dims = [["dp"], []]> : tensor<8x64xf32> -> tensor<4x64xf32>
    ```
  }];
  let arguments = (ins AnyStaticShapeTensor:$input, Dist_MappingAttr:$mapping);
  let assemblyFormat = "$input `in` $mapping attr-dict `:` type($input) `->` type($result)";
}

def Dist_ToGlobalOp : Dist_ManualBoundary<"to_global"> {
  let summary = "the whole value of which every rank has a part, where a graph no longer computes per rank";
  let description = [{
    The exit of what `dist.to_local` enters: a computation that was per rank along `axes`. On those of them that the
    mapping does not name, the graph promises that all coordinates have computed the same. Constraints **C1** to **C3**
    are those of `dist.to_local`.

    - **C4**: `axes` are distinct axes of the mesh, and those of the mapping are among them.

    Example:
    ```mlir
    %1 = dist.to_global %0 over ["dp", "tp"] in <dims = [["dp"], []]> : tensor<4x64xf32> -> tensor<8x64xf32>
    ```
  }];
  let arguments = (ins AnyStaticShapeTensor:$input, StrArrayAttr:$axes, Dist_MappingAttr:$mapping);
  let assemblyFormat = "$input `over` $axes `in` $mapping attr-dict `:` type($input) `->` type($result)";
}

#endif
