//===- Loop.td - counted loops --------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECTS_NET_LOOP_TD
#define MESHWRIGHT_DIALECTS_NET_LOOP_TD

include "dialects/Net/NetBase.td"

/// The type of what a loop counts.
def Net_Trip : Type<And<[IsRankedTensorTypePred, CPred<"::llvm::cast<::mlir::ShapedType>($_self).getRank() == 0">,
                         CPred<"::llvm::cast<::mlir::ShapedType>($_self).getElementType().isSignlessInteger(32)">]>,
                    "tensor<i32>">,
               BuildableType<"::mlir::RankedTensorType::get({}, $_builder.getI32Type())">;

def Net_LoopOp : Net_Op<"loop"> {
  let summary = "begins what is done several times";
  let description = [{
    All operations up to the `net.end_loop` of the result, the *body*, are done `count` times, one *trip* after the other. A loop has no
    region: its body stands between the two in the block of the step, reads what was made before the loop, and is left by `net.next`,
    `net.stack` and `net.total` alone, whose results are there behind the loop. The result is the number of the trip, from 0
    on, with `reverse` from count − 1 down. Loops nest.

    - **C1**: `count` is at least 1 and at most 2^31 − 1.
    - **C2**: one `net.end_loop` of the result follows in the same block, and loops do not cross.
    - **C3**: nothing behind the loop reads a value of the body but the results of `net.next`, `net.stack` and `net.total`, and nothing in
      the body reads these.

    Example: y = w[2]·(w[1]·(w[0]·x)), and every product on the way
    ```mlir
    %i = net.loop count = 3
    %c = net.carry %x in %i : tensor<4xf32>
    %wi = net.take %w in %i : tensor<3x4xf32> -> tensor<4xf32>
    %p = net.multiply %wi, %c : tensor<4xf32>
    %y = net.next %p for %c : tensor<4xf32>
    %all = net.stack %p in %i : tensor<4xf32> -> tensor<3x4xf32>
    net.end_loop %i
    ```
  }];
  let arguments = (ins I64Attr:$count, UnitAttr:$reverse);
  let results = (outs Net_Trip:$index);
  let assemblyFormat = "`count` `=` $count (`reverse` $reverse^)? attr-dict";
  let hasVerifier = 1;
}

def Net_EndLoopOp : Net_Op<"end_loop"> {
  let summary = "ends the body of a loop";
  let description = [{
    - **C1**: `index` is the result of a `net.loop`.

    Example: `net.end_loop %i`
  }];
  let arguments = (ins Net_Trip:$index);
  let assemblyFormat = "$index attr-dict";
  let hasVerifier = 1;
}

def Net_CarryOp : Net_Op<"carry", [AllTypesMatch<["init", "result"]>]> {
  let summary = "a value that one trip hands to the next";
  let description = [{
    `init` in the first trip, in each further one what `net.next` was given in the one before.

    - **C1**: `index` is the result of the loop whose body the operation stands in, and `init` is made before that loop.
    - **C2**: `init` and the result have the same type.
    - **C3**: the same body has exactly one `net.next` for it.

    Example: `%c = net.carry %x in %i : tensor<4xf32>`
  }];
  let arguments = (ins AnyStaticShapeTensor:$init, Net_Trip:$index);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "$init `in` $index attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Net_NextOp : Net_Op<"next", [AllTypesMatch<["value", "carry", "result"]>]> {
  let summary = "what a carried value is in the next trip, and behind the last one";
  let description = [{
    All carried values of a loop change together, at its end: `value` may be another carried value of this trip.

    - **C1**: `carry` is the result of a `net.carry` of the same loop.
    - **C2**: operands and result have the same type.

    Example: `%y = net.next %p for %c : tensor<4xf32>`
  }];
  let arguments = (ins AnyStaticShapeTensor:$value, AnyStaticShapeTensor:$carry);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "$value `for` $carry attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Net_TakeOp : Net_Op<"take", [Pure]> {
  let summary = "the part of a stack that belongs to the trip";
  let description = [{
    Element `index` along the first dimension.

    - **C1**: `index` is the result of the loop whose body the operation stands in, and `stack` is made before that loop.
    - **C2**: the first dimension of `stack` has the loop's `count`; without it `stack` has the result's type.

    Example: `%wi = net.take %w in %i : tensor<3x4xf32> -> tensor<4xf32>`
  }];
  let arguments = (ins AnyStaticShapeTensor:$stack, Net_Trip:$index);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "$stack `in` $index attr-dict `:` type($stack) `->` type($result)";
  let hasVerifier = 1;
}

def Net_StackOp : Net_Op<"stack", [Pure]> {
  let summary = "the values of all trips, one behind the other";
  let description = [{
    Element `index` of the first dimension is the operand in the trip with that number. It is complete behind the loop.

    - **C1**: `index` is the result of the loop whose body the operation stands in.
    - **C2**: the result's first dimension has the loop's `count`; without it the result has the operand's type.

    Example: `%all = net.stack %p in %i : tensor<4xf32> -> tensor<3x4xf32>`
  }];
  let arguments = (ins AnyStaticShapeTensor:$value, Net_Trip:$index);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "$value `in` $index attr-dict `:` type($value) `->` type($result)";
  let hasVerifier = 1;
}

def Net_TotalOp : Net_Op<"total", [Pure, AllTypesMatch<["value", "result"]>]> {
  let summary = "the sum over all trips";
  let description = [{
    Added up in the order of the trips, from zero. It is complete behind the loop.

    - **C1**: `index` is the result of the loop whose body the operation stands in.
    - **C2**: operand and result have the same type.

    Example: `%s = net.total %p in %i : tensor<4xf32>`
  }];
  let arguments = (ins AnyStaticShapeTensor:$value, Net_Trip:$index);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "$value `in` $index attr-dict `:` type($result)";
  let hasVerifier = 1;
}

#endif
