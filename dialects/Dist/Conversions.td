//===- Conversions.td - conversions between placements --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECTS_DIST_CONVERSIONS_TD
#define MESHWRIGHT_DIALECTS_DIST_CONVERSIONS_TD

include "dialects/Dist/ConversionInterface.td"
include "dialects/Dist/DistBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

// A coordinate is an i32 scalar, so its type is not printed.
def Dist_Coordinate : Type<0DTensorOf<[I32]>.predicate, "coordinate of the rank", "::mlir::RankedTensorType">,
                      BuildableType<"::mlir::RankedTensorType::get({}, $_builder.getI32Type())">;

//===----------------------------------------------------------------------===//
// Collectives: the ranks of a group exchange data
//===----------------------------------------------------------------------===//

class Dist_Collective<string mnem> : Op<Dist_Dialect, mnem, [Pure, ConversionOpInterface]> {
  let arguments = (ins AnyRankedTensor:$input, StrArrayAttr:$axes, Dist_MappingAttr:$from, Dist_MappingAttr:$to,
      DenseI64ArrayAttr:$shape);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat =
      "$input `axes` $axes `from` $from `to` $to `shape` $shape attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{ static bool isCollective() { return true; } }];
}

def Dist_AllReduceOp : Dist_Collective<"c_allreduce"> {
  let summary = "reduces a partial value over a group; every rank gets the result";
  let description = [{
    P → R. The group of a rank consists of the ranks that have the same coordinates as it on all other axes.

    - **C1**: `axes` is not empty, and its entries are distinct axes of the mesh.
    - **C2**: both placements resolve against the mesh and `shape`.
    - **C3**: operand and result have the local shapes of `from` and `to` and the same element type, and the reduction
      is defined for that type: i1 has no sum and no product.
    - **C4**: every axis is partial in `from` and replicated in `to`; nothing else differs.

    Example:
    ```mlir
    %1 = dist.c_allreduce %0 axes ["tp"] from <dims = [[]], partial = sum ["tp"]> to <dims = [[]]> shape [8]
         : tensor<8xf32> -> tensor<8xf32>
    ```
  }];
}

def Dist_ReduceScatterOp : Dist_Collective<"c_reducescatter"> {
  let summary = "reduces a partial value over a group; every rank gets its part";
  let description = [{
    P → S. Constraints **C1** to **C3** are those of `dist.c_allreduce`.

    - **C4**: every axis is partial in `from` and splits a dimension in `to`; nothing else differs.

    Example:
    ```mlir
    %1 = dist.c_reducescatter %0 axes ["tp"] from <dims = [[]], partial = sum ["tp"]> to <dims = [["tp"]]> shape [8]
         : tensor<8xf32> -> tensor<4xf32>
    ```
  }];
}

def Dist_AllGatherOp : Dist_Collective<"c_allgather"> {
  let summary = "joins the parts of a group on every rank";
  let description = [{
    S → R, for any digit of a dimension; unless it is the most significant one, the parts of the ranks may interleave in
    the result. Constraints **C1** to **C3** are those of `dist.c_allreduce`.

    - **C4**: every axis splits a dimension in `from` and is replicated in `to`; nothing else differs.

    Example:
    ```mlir
    %1 = dist.c_allgather %0 axes ["tp"] from <dims = [["tp"]]> to <dims = [[]]> shape [8] : tensor<4xf32> -> tensor<8xf32>
    ```
  }];
}

def Dist_AllToAllOp : Dist_Collective<"c_alltoall"> {
  let summary = "exchanges parts along one dimension for parts along another";
  let description = [{
    S(a) → S(b). Along one dimension, ranks exchange units of indices that neither split divides, and each sends as many
    to every other one, where some need fewer. Constraints **C1** to **C3** are those of `dist.c_allreduce`.

    - **C4**: there is one axis, and it splits a dimension in `from` and in `to`, not alike; if it is the same one, all
      axes divide it evenly; nothing else differs.

    Example:
    ```mlir
    %1 = dist.c_alltoall %0 axes ["tp"] from <dims = [["tp"], []]> to <dims = [[], ["tp"]]> shape [8, 4]
         : tensor<4x4xf32> -> tensor<8x2xf32>
    ```
  }];
}

def Dist_HolderBroadcastOp : Dist_Collective<"c_broadcast"> {
  let summary = "copies the owner's value to every rank of a group";
  let description = [{
    One owner → R. The owner in a group is the member at the coordinates that the support of `from` gives for `axes`;
    the operand of every other rank is ignored. Constraints **C1** to **C3** are those of `dist.c_allreduce`.

    - **C4**: every axis has one owner in `from` and is replicated in `to`; nothing else differs.

    Example:
    ```mlir
    %1 = dist.c_broadcast %0 axes ["zero"] from <dims = [[]], on {"zero" = [2]}> to <dims = [[]]> shape [8]
         : tensor<8xf32> -> tensor<8xf32>
    ```
  }];
}

def Dist_HolderReduceOp : Dist_Collective<"c_reduce"> {
  let summary = "reduces a partial value over a group; the owner gets the result";
  let description = [{
    P → one owner. Constraints **C1** to **C3** are those of `dist.c_allreduce`.

    - **C4**: every axis is partial in `from` and has one owner in `to`; nothing else differs.

    Example:
    ```mlir
    %1 = dist.c_reduce %0 axes ["zero"] from <dims = [[]], partial = sum ["zero"]> to <dims = [[]], on {"zero" = [2]}> shape [8]
         : tensor<8xf32> -> tensor<8xf32>
    ```
  }];
}

def Dist_SendOp : Dist_Collective<"c_send"> {
  let summary = "moves a value from one owner to another";
  let description = [{
    One owner → another owner: a point-to-point transfer, which is a send on the old owner and a receive on the new one.
    The other ranks of the group do not take part. Constraints **C1** to **C3** are those of `dist.c_allreduce`.

    - **C4**: there is one axis, with one owner in `from` and another owner in `to`; nothing else differs.

    Example:
    ```mlir
    %1 = dist.c_send %0 axes ["pp"] from <dims = [[]], on {"pp" = [2]}> to <dims = [[]], on {"pp" = [3]}> shape [8]
         : tensor<8xf32> -> tensor<8xf32>
    ```
  }];
}

//===----------------------------------------------------------------------===//
// Local conversions
//===----------------------------------------------------------------------===//

class Dist_LocalConversion<string mnem> : Op<Dist_Dialect, mnem, [Pure, ConversionOpInterface]> {
  let arguments = (ins AnyRankedTensor:$input, Variadic<Dist_Coordinate>:$coordinates, StrArrayAttr:$axes,
      Dist_MappingAttr:$from, Dist_MappingAttr:$to, DenseI64ArrayAttr:$shape);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input `at` `(` $coordinates `)` `axes` $axes `from` $from `to` $to `shape` $shape attr-dict "
                       "`:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{ static bool isCollective() { return false; } }];
}

def Dist_ShardOp : Dist_LocalConversion<"shard"> {
  let summary = "takes the rank's own part of a replicated value";
  let description = [{
    R → S on one axis, without communication. Elements of the result beyond the rank's part are undefined. Constraints
    **C1** to **C3** are those of `dist.c_allreduce`.

    - **C4**: there is one axis, and it is replicated in `from` and splits a dimension in `to`; nothing else differs.
    - **C5**: there is one coordinate per axis.

    Example:
    ```mlir
    %1 = dist.shard %0 at (%tp) axes ["tp"] from <dims = [[]]> to <dims = [["tp"]]> shape [8] : tensor<8xf32> -> tensor<4xf32>
    ```
  }];
}

def Dist_ToPartialOp : Dist_LocalConversion<"to_partial"> {
  let summary = "keeps a value on one rank and the neutral element on the others";
  let description = [{
    R → P, or one owner → P, without communication. The owner of a value keeps it, and every other rank makes the
    neutral element of the reduction. If the value is replicated, the rank at coordinate 0 of every axis keeps it. For
    idempotent reductions (max, min, and, or) a replicated value is partial as it stands, so no operation is needed.
    Constraints **C1** to **C3** are those of `dist.c_allreduce`.

    - **C4**: every axis is partial in `to`; in `from` either every axis has an owner, or every axis is replicated and
      the kind is sum or product; nothing else differs.
    - **C5**: there is one coordinate per axis that is replicated in `from`.

    Example:
    ```mlir
    %1 = dist.to_partial %0 at (%tp) axes ["tp"] from <dims = [[]]> to <dims = [[]], partial = sum ["tp"]> shape [8]
         : tensor<8xf32> -> tensor<8xf32>
    %2 = dist.to_partial %0 at () axes ["zero"] from <dims = [[]], on {"zero" = [2]}> to <dims = [[]], partial = sum ["zero"]>
         shape [8] : tensor<8xf32> -> tensor<8xf32>
    ```
  }];
}

def Dist_MaskOp : Op<Dist_Dialect, "mask", [Pure, AllTypesMatch<["input", "result"]>]> {
  let summary = "overwrites the padding beyond the rank's part";
  let description = [{
    If an axis does not divide a dimension, local arrays are padded to the size of the largest part, and the padding is
    undefined. An operation that would read the padding, such as a reduction, first sets it to its neutral element,
    `fill`.

    - **C1**: the placement resolves against the mesh and `shape`, and the operand has the local shape.
    - **C2**: `dims` are distinct dimensions, and each is split.
    - **C3**: there is one coordinate per axis that splits one of `dims`, in the order of the dimensions and of their digits.
    - **C4**: `fill` has the operand's element type.

    Example:
    ```mlir
    %1 = dist.mask %0 at (%tp) dims [0] placement <dims = [["tp"]]> shape [7] fill 0.0 : f32 : tensor<4xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, Variadic<Dist_Coordinate>:$coordinates, DenseI64ArrayAttr:$dims,
      Dist_MappingAttr:$placement, DenseI64ArrayAttr:$shape, TypedAttrInterface:$fill);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input `at` `(` $coordinates `)` `dims` $dims `placement` $placement `shape` $shape `fill` "
                       "$fill attr-dict `:` type($input)";
  let hasVerifier = 1;
}

#endif
