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

def Dist_KernelOp : Dist_ProgramOp<"kernel", [Pure, IsolatedFromAbove, SingleBlock]> {
  let summary = "operations that are compiled together";
  let description = [{
    The body computes the results from the inputs with operations that have a kernel lowering; kernels whose bodies are
    equal are compiled once. Where `in_place` has an input's number for a result, not -1, the result may be
    written where that input is.

    - **C1**: the body has one argument per input, of its type, and yields one value per result, of its type.
    - **C2**: `in_place`, where given, has one entry per result, an input of the same type or -1.

    Example:
    ```mlir
    %1 = dist.kernel(%0) {
    ^bb0(%x: tensor<4xf32>):
      %y = net.exponential %x : tensor<4xf32>
      dist.yield %y : tensor<4xf32>
    } : (tensor<4xf32>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs, OptionalAttr<DenseI64ArrayAttr>:$in_place);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "`(` $inputs `)` (`in_place` $in_place^)? $body attr-dict `:` functional-type($inputs, $results)";
  let hasVerifier = 1;
}

def Dist_CollectiveKind : I32Enum<"CollectiveKind", "how the ranks of a group exchange contiguous memory", [
    I32EnumCase<"AllReduce", 0, "c_allreduce">,
    I32EnumCase<"AllGather", 1, "c_allgather">,
    I32EnumCase<"ReduceScatter", 2, "c_reducescatter">,
    I32EnumCase<"AllToAll", 3, "c_alltoall">,
    I32EnumCase<"Broadcast", 4, "c_broadcast">,
    I32EnumCase<"Reduce", 5, "c_reduce">,
    I32EnumCase<"Send", 6, "c_send">]> {
  let cppNamespace = "::meshwright::dist";
}

def Dist_CollectiveKindAttr : EnumAttr<Dist_Dialect, Dist_CollectiveKind, "collective_kind">;

def Dist_Memory : AnyTypeOf<[AnyRankedTensor, Dist_FlightType]>;

def Dist_CollectiveOp : Dist_ProgramOp<"collective", [Pure]> {
  let summary = "an exchange of contiguous memory in a group";
  let description = [{
    One launch moves one or more parts, all of one element type. With n ranks in the group of `axes`, in order of their
    coordinates, the first axis slowest: `c_allreduce` takes and gives equally many elements; `c_allgather` gives n times as many,
    `c_reducescatter` an nth, part i from or for rank i; `c_alltoall` takes and gives n parts; `c_broadcast` gives everybody what the
    root has, `c_reduce` gives it the reduction of what everybody has. `roots` has the member of the group that is the root of each
    part. In the program of a single rank the parts listed in `elsewhere` have their root on another rank: a broadcast
    takes nothing for them, a reduction gives nothing. `c_send` gives one member, `to`, what another one, the root of all
    parts, has; nobody else takes part. In the program of the root it gives nothing, in that of the other it takes nothing.

    Where nothing is left of what a start gives, it gives a flight of no elements, to be waited for.

    Where the results are flights the exchange is started only: `dist.wait` makes values of them. All collectives of a rank
    take place in the order in which they stand, so one may take what an earlier one has in flight.

    - **C1**: the mesh has the axes.
    - **C2**: the numbers of elements are as said, and all element types are equal.
    - **C3**: there is one root per part, inside the group, exactly where the kind has roots; the parts `elsewhere` increase. What is
      sent goes `to` one member of the group, from another one.
    - **C4**: all results are flights, or none is.
    - **C5**: a flight that is taken has one use.

    Example:
    ```mlir
    %1:2 = dist.collective c_allgather sum(%a, %b) axes ["tp"] : (tensor<4xf32>, tensor<1xf32>) -> (tensor<2x4xf32>, tensor<2xf32>)
    %2 = dist.collective c_broadcast sum(%c) roots [1] axes ["tp"] : (tensor<4xf32>) -> (!dist.flight<tensor<4xf32>>)
    %3 = dist.wait %2 : (!dist.flight<tensor<4xf32>>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins Dist_CollectiveKindAttr:$kind, Dist_ReduceKindAttr:$reduction, Variadic<Dist_Memory>:$inputs,
                       OptionalAttr<DenseI64ArrayAttr>:$roots, OptionalAttr<DenseI64ArrayAttr>:$elsewhere,
                       OptionalAttr<I64Attr>:$to, StrArrayAttr:$axes);
  let results = (outs Variadic<Dist_Memory>:$results);
  let assemblyFormat = [{
    $kind `` $reduction `(` $inputs `)` (`roots` $roots^)? (`elsewhere` $elsewhere^)? (`to` $to^)? `axes` $axes attr-dict
    `:` functional-type($inputs, $results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// How many parts move.
    unsigned getNumParts();
    /// Whether the root of a part is another rank, in the program of a single rank.
    bool isElsewhere(unsigned part);
    /// What a part takes and gives; null where that is on another rank.
    ::mlir::Value getPartInput(unsigned part);
    ::mlir::Value getPartResult(unsigned part);
    /// The type of the elements that move.
    ::mlir::Type getElementType();
    /// Whether the exchange is started only.
    bool isStart();
  }];
}

def Dist_CopyOp : Dist_ProgramOp<"copy", [Pure]> {
  let summary = "the same value in another memory";
  let description = [{
    Brings a value from the memory of the host to that of the device, or the other way: what is assigned to a variable that the host keeps
    is the result of a copy, and whoever computes with such a variable reads a copy of it.

    Where the result is a flight the copy is started only: `dist.wait` makes a value of it. Copies of one direction take place
    in the order in which they stand; nothing but a wait orders them with anything else.

    - **C1**: input and result are of one type, but that the result may be in flight.

    Example: with `net.variable optimizer_state @m : tensor<4xf32> {dist.memory = #dist<memory host>}`
    ```mlir
    %0 = net.read @m : tensor<4xf32>
    %1 = dist.copy %0 to device : (tensor<4xf32>) -> !dist.flight<tensor<4xf32>>
    %2 = dist.wait %1 : (!dist.flight<tensor<4xf32>>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, Dist_MemoryKindAttr:$memory);
  let results = (outs Dist_Memory:$result);
  let assemblyFormat = "$input `to` $memory attr-dict `:` functional-type($input, $result)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Whether the copy is started only.
    bool isStart();
  }];
}

def Dist_WaitOp : Dist_ProgramOp<"wait", [Pure]> {
  let summary = "waits for what is in flight";
  let description = [{
    The results are the values that were in flight, in the same memory.

    - **C1**: all operands are results of one `dist.collective` or `dist.copy`, and this is their only use.

    Example: `%1 = dist.wait %0 : (!dist.flight<tensor<4xf32>>) -> tensor<4xf32>`
  }];
  let arguments = (ins Variadic<Dist_FlightType>:$flights);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = "$flights attr-dict `:` functional-type($flights, $results)";
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$flights)>];
}

def Dist_EitherOp : Dist_ProgramOp<"either", [Pure, AllTypesMatch<["held", "other", "result"]>]> {
  let summary = "one value on some ranks, another elsewhere";
  let description = [{
    The ranks at the coordinates `holders` take `held`, which others need not have; those take `other`. In the program of a single
    rank it is decided which, and the operation is gone.

    - **C1**: `holders` has coordinates of axes of the mesh.

    Example: `%2 = dist.either %0 on {zero = array<i64: 2>} else %1 : tensor<4xf32>`
  }];
  let arguments = (ins AnyRankedTensor:$held, DictionaryAttr:$holders, AnyRankedTensor:$other);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$held `on` $holders `else` $other attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Dist_AbsentOp : Dist_ProgramOp<"absent", [Pure]> {
  let summary = "a value that this rank does not have";
  let description = [{
    Stands in the program of a single rank where the program of all has a value of others: a result that others return. There is no
    memory for it, and nothing computes with it.

    Example: `%0 = dist.absent : tensor<4xf32>`
  }];
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def Dist_YieldOp : Dist_ProgramOp<"yield", [Pure, Terminator, HasParent<"KernelOp">]> {
  let summary = "ends the body of a kernel";
  let description = [{
    Example: `dist.yield %0 : tensor<4xf32>`
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$operands);
  let assemblyFormat = "($operands^ `:` type($operands))? attr-dict";
}

def Dist_ViewOp : Dist_ProgramOp<"view", [Pure]> {
  let summary = "part of a value's memory under another shape";
  let description = [{
    The result is the row-major elements of the input from element `offset` on, in the same memory.

    - **C1**: input and result have the same element type, and the result ends inside the input.

    Example: `%1 = dist.view %0 at 6 : tensor<4x6xf32> -> tensor<2x3xf32>`
  }];
  let arguments = (ins AnyRankedTensor:$input, I64Attr:$offset);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input `at` $offset attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def Dist_ScheduleOp : Dist_ProgramOp<"schedule"> {
  let summary = "in which order some ranks do the works of a step";
  let description = [{
    In a pipeline a step is many functions, each of one *work* (`dist.work`): what a stage does with a micro-batch, what is sent from one
    stage to another, the update. The ranks `on` do their `works` in the order of `items`, which are pairs: the number of a
    work and the micro-batch that it is done for. A work that sends is started only; the complement −1 − n of its number stands
    where the ranks wait for it, in the same micro-batch.

    - **C1**: works are distinct.
    - **C2**: items are pairs of the number of a work, or its complement, and a micro-batch.

    Example: a forward, a send and the wait for it, for two micro-batches
    ```mlir
    dist.schedule on {pp = array<i64: 0>} works ["0F", "send0"] items [0, 0, 1, 0, 0, 1, -2, 0, 1, 1, -2, 1]
    ```
  }];
  let arguments = (ins DictionaryAttr:$on, StrArrayAttr:$works, DenseI32ArrayAttr:$items);
  let assemblyFormat = "`on` $on `works` $works `items` $items attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// One entry of `items`.
    struct Item {
      int32_t work;
      bool isWait;
      int32_t microBatch;
    };
    unsigned getNumItems() { return getItems().size() / 2; }
    Item getItem(unsigned index);
  }];
}

def Dist_MatmulOp : Dist_ProgramOp<"matmul", [Pure]> {
  let summary = "a product that a library computes";
  let description = [{
    For every index of `batch` the m × n product of an m × k and a k × n matrix. The matrices lie in the operands and the
    result by strides in elements: those of the batch dimensions, then of rows and of columns; in the operands from
    an offset on. Sums are taken in f32 or wider.

    - **C1**: strides have one entry per batch dimension and two more.
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
