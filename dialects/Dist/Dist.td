//===- Dist.td - operations of the dist dialect ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECTS_DIST_DIST_TD
#define MESHWRIGHT_DIALECTS_DIST_DIST_TD

include "dialects/Dist/Conversions.td"
include "dialects/Dist/DistBase.td"
include "dialects/Dist/Schedule.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Dist_Op<string mnem, list<Trait> traits = []> : Op<Dist_Dialect, mnem, traits>;

def Dist_MeshOp : Dist_Op<"mesh", [Symbol]> {
  let summary = "names a grid of ranks and times";
  let description = [{
    Declares the mesh of a module: named axes with sizes, of which the first varies slowest. The coordinates of an axis
    are either ranks, which run side by side, or times, which follow each other on the same ranks: the `slices`
    (micro-batches) of a step's batch, or the `steps` whose gradients are accumulated into one update.

    - **C1**: axis names are distinct and not empty.
    - **C2**: sizes are positive; the number of ranks and the number of times each fit 31 bits.
    - **C3**: axes of ranks come first, then at most one axis of slices, then at most one axis of steps.
    - **C4**: a module has one mesh.

    Example:
    ```mlir
    dist.mesh @mesh <["dp" = 2, slices "micro" = 4, steps "accumulation" = 8]>
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrArrayAttr:$axes, DenseI64ArrayAttr:$sizes,
                       OptionalAttr<DenseI32ArrayAttr>:$kinds);
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name, "const ::meshwright::dist::Mesh &":$mesh)>];
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The mesh as plain data.
    ::meshwright::dist::Mesh getMesh();
  }];
}

def Dist_CoordinateOp : Dist_Op<"coordinate", [Pure, AlwaysAvailable]> {
  let summary = "the rank's coordinate on an axis, filled in by the runtime";
  let description = [{
    Ranks whose programs differ only in numbers share one program, which computes these numbers from its coordinates.

    - **C1**: the module's mesh has the axis.

    Example:
    ```mlir
    %0 = dist.coordinate "tp" : tensor<i32>
    ```
  }];
  let arguments = (ins StrAttr:$axis);
  let results = (outs 0DTensorOf<[I32]>:$result);
  let assemblyFormat = "$axis attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Dist_ReshardOp : Dist_Op<"reshard", [Pure, AllTypesMatch<["input", "result"]>]> {
  let summary = "converts a value from one placement to another";
  let description = [{
    States the conversion on the global value; Partition lowers it to collectives and local operations.

    - **C1**: both mappings resolve against the module's mesh and the value's shape.

    Example:
    ```mlir
    %1 = dist.reshard %0 from <dims = [["dp"], []], partial = sum ["tp"]> to <dims = [["dp"], []]> : tensor<8x64xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, Dist_MappingAttr:$from, Dist_MappingAttr:$to);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input `from` $from `to` $to attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Dist_AccumulateOp : Dist_Op<"accumulate", [Pure, Elementwise, SameOperandsAndResultType,
                                               DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the running sum over an axis of times";
  let description = [{
    One step of gradient accumulation. At coordinate 0 of the axis the result is `addend`, at every other coordinate it
    is `before` + `addend`. `before` is a read of the accumulator to which the result is assigned; its value at
    coordinate 0 is not used.

    With `sums` the result is `before` + `addend` at these coordinates and `addend` at all others. A chain of such
    operations adds by a binary tree, as `reproducible` asks for: the one of level l sums at coordinates whose number
    ends in l + 1 ones, and what it lets pass at those that end in a zero and l ones is assigned to its accumulator.

    - **C1**: operands and result have the same type.
    - **C2**: `axis` is an axis of times of the module's mesh.
    - **C3**: `sums` are ascending coordinates of the axis, of which 0 is none.

    Example:
    ```mlir
    %before = net.read @"accumulator/p.w" : tensor<4x8xf32>
    %sum = dist.accumulate %before, %gradient over "accumulation" : tensor<4x8xf32>
    net.assign @"accumulator/p.w", %sum {dist.during = {accumulation = array<i64: 0, 1, 2>}} : tensor<4x8xf32>
    ```
    Four slices by a tree:
    ```mlir
    %pair = dist.accumulate %first, %gradient over "micro" sums [1, 3] : tensor<4x8xf32>
    net.assign @"accumulator/p.w", %pair {dist.during = {micro = array<i64: 0, 2>}} : tensor<4x8xf32>
    %all = dist.accumulate %firstPair, %pair over "micro" sums [3] : tensor<4x8xf32>
    net.assign @"accumulator/p.w_0", %all {dist.during = {micro = array<i64: 1>}} : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins AnyStaticShapeTensor:$before, AnyStaticShapeTensor:$addend, StrAttr:$axis,
                       OptionalAttr<DenseI64ArrayAttr>:$sums);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "$before `,` $addend `over` $axis (`sums` $sums^)? attr-dict `:` type($result)";
}

def Dist_WhenOp : Dist_Op<"when", [SingleBlock, NoRegionArguments, RecursiveMemoryEffects,
                                   DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "operations that run at some of the times: a counted conditional";
  let description = [{
    The body runs at the `times`, coordinates of axes of times, and is left out at all others. All ranks count the same
    times, so either every rank runs the body or none does, and collectives in it find all members of their groups. The
    condition is no value of the program. Values of before are read as they are; the results have values at the `times`
    alone, and only operations, assignments and results of these times may read them.

    - **C1**: the body yields values of the types of the results.
    - **C2**: every entry of `times` is an axis of times of the module's mesh, with coordinates of it in ascending
      order, at least one and not all. There is at least one entry.

    Example: the update after the last of four steps
    ```mlir
    dist.when {accumulation = array<i64: 3>} {
      %total = dist.c_allreduce %sum axes ["dp"] from <dims = [[]], partial = sum ["dp"]> to <dims = [[]]> shape [8]
               : tensor<8xf32> -> tensor<8xf32>
      %new = net.subtract %w, %total : tensor<8xf32>
      net.assign @p.w, %new : tensor<8xf32>
      dist.yield
    }
    ```
  }];
  let arguments = (ins DictionaryAttr:$times);
  let results = (outs Variadic<AnyStaticShapeTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$times $body attr-dict (`:` type($results)^)?";
  let hasRegionVerifier = 1;
}

#endif
