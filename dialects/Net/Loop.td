//===- Loop.td - counted loops --------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECTS_NET_LOOP_TD
#define MESHWRIGHT_DIALECTS_NET_LOOP_TD

include "dialects/Net/NetBase.td"

/// The type of a loop's index.
def Net_Iteration : Type<And<[IsRankedTensorTypePred, CPred<"::llvm::cast<::mlir::ShapedType>($_self).getRank() == 0">,
                         CPred<"::llvm::cast<::mlir::ShapedType>($_self).getElementType().isSignlessInteger(32)">]>,
                    "tensor<i32>">,
               BuildableType<"::mlir::RankedTensorType::get({}, $_builder.getI32Type())">;

def Net_LoopOp : Net_Op<"loop", [Net_LoopPart]> {
  let summary = "begins a counted loop";
  let description = [{
    Executes the operations up to the matching `net.end_loop`, the *body*, `count` times in sequence. A loop has no
    region: its body lies between the two operations in the block of the step and may read any value from before the
    loop. Values leave the loop only through `net.next`, `net.stack` and `net.total`, whose results are defined after
    the loop. The result of `net.loop` is the number of the iteration, which counts up from 0 or, with `reverse`, down
    from count − 1. Loops nest.

    - **C1**: `count` is at least 1 and at most 2^31 − 1.
    - **C2**: one `net.end_loop` of the result follows in the same block, and loops do not cross.
    - **C3**: operations after the loop read no value of the body except results of `net.next`, `net.stack` and
      `net.total`, which no operation of the body reads.

    Example: y = w[2]·(w[1]·(w[0]·x)), and the product of every iteration
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
  let results = (outs Net_Iteration:$index);
  let assemblyFormat = "`count` `=` $count (`reverse` $reverse^)? attr-dict";
  let hasVerifier = 1;
}

def Net_EndLoopOp : Net_Op<"end_loop", [Net_LoopPart]> {
  let summary = "ends the body of a loop";
  let description = [{
    - **C1**: `index` is the result of a `net.loop`.

    Example: `net.end_loop %i`
  }];
  let arguments = (ins Net_Iteration:$index);
  let assemblyFormat = "$index attr-dict";
  let hasVerifier = 1;
}

def Net_CarryOp : Net_Op<"carry", [Net_LoopPart, AllTypesMatch<["init", "result"]>]> {
  let summary = "a value carried from one iteration to the next";
  let description = [{
    The result is `init` in the first iteration, and in every later one the operand of `net.next` in the previous
    iteration.

    - **C1**: `index` is the result of the loop whose body contains the operation, and `init` is defined before that
      loop.
    - **C2**: `init` and the result have the same type.
    - **C3**: the same body has exactly one `net.next` for the result.

    Example: `%c = net.carry %x in %i : tensor<4xf32>`
  }];
  let arguments = (ins AnyStaticShapeTensor:$init, Net_Iteration:$index);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "$init `in` $index attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Net_NextOp : Net_Op<"next", [Net_LoopPart, AllTypesMatch<["value", "carry", "result"]>]> {
  let summary = "sets a carried value for the next iteration";
  let description = [{
    The result is the carried value after the last iteration. All carried values of a loop change together at the end of
    an iteration, so `value` may be another carried value of the present iteration.

    - **C1**: `carry` is the result of a `net.carry` of the same loop.
    - **C2**: operands and result have the same type.

    Example: `%y = net.next %p for %c : tensor<4xf32>`
  }];
  let arguments = (ins AnyStaticShapeTensor:$value, AnyStaticShapeTensor:$carry);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "$value `for` $carry attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Net_TakeOp : Net_Op<"take", [Pure, Net_LoopPart]> {
  let summary = "the element of a stack that belongs to the iteration";
  let description = [{
    Returns element `index` along the first dimension of `stack`.

    - **C1**: `index` is the result of the loop whose body contains the operation, and `stack` is defined before that
      loop.
    - **C2**: the first dimension of `stack` has size `count` of the loop; the other dimensions and the element type are
      the result's.

    Example: `%wi = net.take %w in %i : tensor<3x4xf32> -> tensor<4xf32>`
  }];
  let arguments = (ins AnyStaticShapeTensor:$stack, Net_Iteration:$index);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "$stack `in` $index attr-dict `:` type($stack) `->` type($result)";
  let hasVerifier = 1;
}

def Net_StackOp : Net_Op<"stack", [Pure, Net_LoopPart]> {
  let summary = "stacks the values of all iterations";
  let description = [{
    Element `index` along the first dimension of the result is the operand in the iteration of that number. The result
    is complete after the loop.

    - **C1**: `index` is the result of the loop whose body contains the operation.
    - **C2**: the first dimension of the result has size `count` of the loop; the other dimensions and the element type
      are the operand's.

    Example: `%all = net.stack %p in %i : tensor<4xf32> -> tensor<3x4xf32>`
  }];
  let arguments = (ins AnyStaticShapeTensor:$value, Net_Iteration:$index);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "$value `in` $index attr-dict `:` type($value) `->` type($result)";
  let hasVerifier = 1;
}

def Net_TotalOp : Net_Op<"total", [Pure, Net_LoopPart, AllTypesMatch<["value", "result"]>]> {
  let summary = "the sum over all iterations";
  let description = [{
    Adds up the operands of all iterations in their order, starting from zero. The result is complete after the loop.

    - **C1**: `index` is the result of the loop whose body contains the operation.
    - **C2**: operand and result have the same type.

    Example: `%s = net.total %p in %i : tensor<4xf32>`
  }];
  let arguments = (ins AnyStaticShapeTensor:$value, Net_Iteration:$index);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "$value `in` $index attr-dict `:` type($result)";
  let hasVerifier = 1;
}

#endif
