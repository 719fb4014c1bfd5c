//===- Schedule.td - operations of a scheduled rank program ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECTS_DIST_SCHEDULE_TD
#define MESHWRIGHT_DIALECTS_DIST_SCHEDULE_TD

include "dialects/Dist/DistBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Dist_ProgramOp<string mnem, list<Trait> traits = []> : Op<Dist_Dialect, mnem, traits>;

def Dist_ScoresAttr : Dist_Attr<"Scores", "scores"> {
  let summary = "the axes of a kernel of scores, and the columns that its mask leaves";
  let description = [{
    `rows` and `columns` are dimensions of the result of the kernel's first product. `visible` has the first column and
    the end of the columns for each 64 neighbouring rows: what lies outside changes no result.

    Example: `#dist.scores<rows = 2, columns = 3, visible = [0, 64, 0, 128]>`
  }];
  let parameters = (ins "int64_t":$rows, "int64_t":$columns, ArrayRefParameter<"int64_t">:$visible);
  let assemblyFormat = "`<` `rows` `=` $rows `,` `columns` `=` $columns `,` `visible` `=` `[` $visible `]` `>`";
}

def Dist_KernelOp : Dist_ProgramOp<"kernel", [Pure, Computation, IsolatedFromAbove, SingleBlock]> {
  let summary = "operations that are fused and compiled as one function";
  let description = [{
    The body computes the results from the inputs with operations that have a kernel lowering; kernels with equal
    bodies are compiled once. `in_place` gives for each result the number of an input whose memory the result may
    overwrite, or -1.

    A kernel with `scores` is that of an attention: it multiplies short matrices to a long one and makes less of it, as
    a softmax and another product do. It is compiled such that no more than tiles of the scores exist.

    - **C1**: the body has one argument per input, of the input's type, and yields one value per result, of the result's
      type.
    - **C2**: `in_place`, if present, has one entry per result: -1 or the number of an input of the same type.
    - **C3**: `scores`, if present, names two different dimensions, and its `visible` are pairs of a first column and an
      end that is not before it.

    Example:
    ```mlir
    %1 = dist.kernel(%0) {
    ^bb0(%x: tensor<4xf32>):
      %y = net.exponential %x : tensor<4xf32>
      dist.yield %y : tensor<4xf32>
    } : (tensor<4xf32>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs, OptionalAttr<DenseI64ArrayAttr>:$in_place,
                       OptionalAttr<Dist_ScoresAttr>:$scores);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "`(` $inputs `)` (`in_place` $in_place^)? (`scores` $scores^)? $body attr-dict `:` functional-type($inputs, $results)";
  let hasVerifier = 1;
}

// The kinds are the rows of meshwright/runtime/Collectives.def.
def Dist_CollectiveKindParameter : AttrOrTypeParameter<"::meshwright::dist::CollectiveKind", "a kind of collective"> {
  let parser = "::meshwright::dist::parseCollectiveKind($_parser)";
  let printer = "$_printer << ::meshwright::dist::stringifyCollectiveKind($_self)";
}

def Dist_CollectiveKindAttr : AttrDef<Dist_Dialect, "CollectiveKind"> {
  let summary = "how the ranks of a group exchange contiguous memory";
  let mnemonic = "collective_kind";
  let parameters = (ins Dist_CollectiveKindParameter:$value);
  let assemblyFormat = "$value";
  let constBuilderCall = "::meshwright::dist::CollectiveKindAttr::get($_builder.getContext(), $0)";
  let returnType = "::meshwright::dist::CollectiveKind";
  let convertFromStorage = "$_self.getValue()";
}

def Dist_Memory : AnyTypeOf<[AnyRankedTensor, Dist_HandleType]>;

def Dist_CollectiveOp : Dist_ProgramOp<"collective", [Pure]> {
  let summary = "a collective on contiguous memory in a group of ranks";
  let description = [{
    Moves one or more parts (a bucket) of one element type in one call. Kinds that reduce name the reduction. The n
    members of the group of `axes` are ordered by their coordinates, the first axis slowest. Per part, with m elements
    in each operand:

    | kind | result |
    |---|---|
    | `c_allreduce` | m elements on every member: the reduction |
    | `c_allgather` | n·m elements on every member: the operands in order |
    | `c_reducescatter` | m/n elements on member i: the i-th piece of the reduction |
    | `c_alltoall` | m elements on member i: the i-th piece of every operand, in order |
    | `c_broadcast` | m elements on every member: the operand of the root |
    | `c_reduce` | m elements on the root: the reduction |
    | `c_send` | m elements on member `to`: the operand of the root |

    `roots` has one member of the group per part. In the program of a single rank, `elsewhere` lists the parts whose
    root is another rank: a broadcast has no operand for such a part, a reduction no result. A send has the same root
    for all parts; in the program of the root it has no results, in the program of the receiver no operands, and no
    other member takes part.

    If the results are async handles (`!dist.handle`), the collective is only started, and `dist.wait` returns its
    values. A start that has no result on this rank returns a handle of no elements, so that the program can wait for
    it. A rank runs its collectives in program order, so a collective may take the handle of an earlier one as its
    operand.

    - **C1**: `axes` are axes of the mesh.
    - **C2**: the numbers of elements are those of the table, and all element types are equal.
    - **C3**: a kind with roots has one root per part, which is a member of the group; other kinds have none. The parts
      in `elsewhere` increase. A send goes from one member of the group `to` another.
    - **C4**: either all results are async handles, or none is.
    - **C5**: an async handle that is taken as an operand has one use.

    Example:
    ```mlir
    %1:2 = dist.collective c_allgather(%a, %b) axes ["tp"] : (tensor<4xf32>, tensor<1xf32>) -> (tensor<2x4xf32>, tensor<2xf32>)
    %2 = dist.collective c_broadcast(%c) roots [1] axes ["tp"] : (tensor<4xf32>) -> (!dist.handle<tensor<4xf32>>)
    %3 = dist.wait %2 : (!dist.handle<tensor<4xf32>>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins Dist_CollectiveKindAttr:$kind, Dist_ReduceKindAttr:$reduction, Variadic<Dist_Memory>:$inputs,
                       OptionalAttr<DenseI64ArrayAttr>:$roots, OptionalAttr<DenseI64ArrayAttr>:$elsewhere,
                       OptionalAttr<I64Attr>:$to, StrArrayAttr:$axes);
  let results = (outs Variadic<Dist_Memory>:$results);
  let assemblyFormat = [{
    custom<KindAndReduction>($kind, $reduction) `(` $inputs `)` (`roots` $roots^)? (`elsewhere` $elsewhere^)?
    (`to` $to^)? `axes` $axes attr-dict `:` functional-type($inputs, $results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The number of parts.
    unsigned getNumParts();
    /// True if, in the program of a single rank, the root of `part` is another rank.
    bool isElsewhere(unsigned part);
    /// The operand and the result of `part`; null if this rank's program has none.
    ::mlir::Value getPartInput(unsigned part);
    ::mlir::Value getPartResult(unsigned part);
    /// The element type of all parts.
    ::mlir::Type getElementType();
    /// True if the collective is only started: its results are async handles.
    bool isStart();
  }];
}

def Dist_CopyOp : Dist_ProgramOp<"copy", [Pure]> {
  let summary = "copies a value between the memories of host and device";
  let description = [{
    A variable that is kept on the host is copied to the device before an operation computes with it, and its new value
    is copied to the host before it is assigned.

    If the result is an async handle, the copy is only started, and `dist.wait` returns the value. Copies in one
    direction run in program order; only a wait orders them relative to other operations.

    - **C1**: the result has the type of the input or is an async handle of that type.

    Example: with `net.variable optimizer_state @m : tensor<4xf32> {dist.memory = #dist<memory host>}`
    ```mlir
    %0 = net.read @m : tensor<4xf32>
    %1 = dist.copy %0 to device : (tensor<4xf32>) -> !dist.handle<tensor<4xf32>>
    %2 = dist.wait %1 : (!dist.handle<tensor<4xf32>>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, Dist_MemoryKindAttr:$memory);
  let results = (outs Dist_Memory:$result);
  let assemblyFormat = "$input `to` $memory attr-dict `:` functional-type($input, $result)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// True if the copy is only started: its result is an async handle.
    bool isStart();
  }];
}

def Dist_WaitOp : Dist_ProgramOp<"wait", [Pure]> {
  let summary = "waits for a collective or copy that was started";
  let description = [{
    Takes async handles and returns their values, in the same memory.

    - **C1**: the operands are results of one `dist.collective` or `dist.copy`, and have no other use.

    Example: `%1 = dist.wait %0 : (!dist.handle<tensor<4xf32>>) -> tensor<4xf32>`
  }];
  let arguments = (ins Variadic<Dist_HandleType>:$handles);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = "$handles attr-dict `:` functional-type($handles, $results)";
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$handles)>];
}

def Dist_EitherOp : Dist_ProgramOp<"either", [Pure, AllTypesMatch<["held", "other", "result"]>]> {
  let summary = "selects a value by the coordinates of the rank";
  let description = [{
    On ranks at the coordinates `holders` the result is `held`, which the other ranks need not have; on the others it is
    `other`. The program of a single rank does not contain this operation, as the choice is known there.

    - **C1**: `holders` has coordinates of axes of the mesh.

    Example: `%2 = dist.either %0 on {zero = array<i64: 2>} else %1 : tensor<4xf32>`
  }];
  let arguments = (ins AnyRankedTensor:$held, DictionaryAttr:$holders, AnyRankedTensor:$other);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$held `on` $holders `else` $other attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Dist_AbsentOp : Dist_ProgramOp<"absent", [Pure]> {
  let summary = "stands for a value that this rank does not have";
  let description = [{
    The program of a single rank returns it in place of a result that only other ranks return. It has no memory, and no
    operation computes with it.

    Example: `%0 = dist.absent : tensor<4xf32>`
  }];
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def Dist_YieldOp : Dist_ProgramOp<"yield", [Pure, Terminator, ParentOneOf<["KernelOp", "WhenOp"]>]> {
  let summary = "ends the body of a kernel or of a counted conditional";
  let description = [{
    Example: `dist.yield %0 : tensor<4xf32>`
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$operands);
  let assemblyFormat = "($operands^ `:` type($operands))? attr-dict";
}

def Dist_ViewOp : Dist_ProgramOp<"view", [Pure]> {
  let summary = "reinterprets part of a value's memory under another shape";
  let description = [{
    The result consists of the row-major elements of the input from element `offset` on, in the same memory.

    - **C1**: input and result have the same element type, and the result ends inside the input.

    Example: `%1 = dist.view %0 at 6 : tensor<4x6xf32> -> tensor<2x3xf32>`
  }];
  let arguments = (ins AnyRankedTensor:$input, I64Attr:$offset);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input `at` $offset attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def Dist_ScheduleOp : Dist_ProgramOp<"schedule"> {
  let summary = "the order of a pipeline's actions on some ranks";
  let description = [{
    In a pipeline a step is split into functions, one per *action* (attribute `dist.action`): the forward or backward of a
    stage for one micro-batch, a send between stages, or the update. The ranks at the coordinates `on` run the actions
    `actions` in the order of `items`, which is a list of pairs: the number n of an action and a micro-batch. An action
    that sends only starts the transfer; the complement −1 − n marks the point at which the ranks wait for the transfer
    of that micro-batch.

    - **C1**: the names in `actions` are distinct.
    - **C2**: `items` consists of pairs of the number of an action, or its complement, and a micro-batch.

    Example: a forward, a send and the wait for it, for two micro-batches
    ```mlir
    dist.schedule on {pp = array<i64: 0>} actions ["0F", "send0"] items [0, 0, 1, 0, 0, 1, -2, 0, 1, 1, -2, 1]
    ```
  }];
  let arguments = (ins DictionaryAttr:$on, StrArrayAttr:$actions, DenseI32ArrayAttr:$items);
  let assemblyFormat = "`on` $on `actions` $actions `items` $items attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// One entry of `items`.
    struct Item {
      int32_t action;
      bool isWait;
      int32_t microBatch;
    };
    unsigned getNumItems() { return getItems().size() / 2; }
    Item getItem(unsigned index);
  }];
}

def Dist_MatmulOp : Dist_ProgramOp<"matmul", [Pure, Computation]> {
  let summary = "a batched GEMM that a library computes";
  let description = [{
    Computes for every index of `batch` the m × n product of an m × k and a k × n matrix. Strides, in elements, say how
    the matrices lie in the operands and in the result: first those of the batch dimensions, then of rows, then of
    columns. The matrices start at an offset in the operands and at 0 in the result. Sums are computed in f32 or wider.

    - **C1**: each list of strides has one entry per batch dimension, one for rows and one for columns.
    - **C2**: every element lies inside its tensor.

    Example:
    ```mlir
    %2 = dist.matmul %0 at 0 [3, 1], %1 at 0 [4, 1] to [4, 1] batch [] m 2 n 4 k 3
         : tensor<2x3xf32>, tensor<3x4xf32> -> tensor<2x4xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$lhs, AnyRankedTensor:$rhs, I64Attr:$lhs_offset, DenseI64ArrayAttr:$lhs_strides,
                       I64Attr:$rhs_offset, DenseI64ArrayAttr:$rhs_strides, DenseI64ArrayAttr:$out_strides,
                       DenseI64ArrayAttr:$batch, I64Attr:$m, I64Attr:$n, I64Attr:$k);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $lhs `at` $lhs_offset $lhs_strides `,` $rhs `at` $rhs_offset $rhs_strides `to` $out_strides
    `batch` $batch `m` $m `n` $n `k` $k attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)
  }];
  let hasVerifier = 1;
}

#endif
