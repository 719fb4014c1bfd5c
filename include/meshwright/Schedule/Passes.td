//===- Passes.td - the passes of Schedule ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SCHEDULE_PASSES_TD
#define MESHWRIGHT_SCHEDULE_PASSES_TD

include "mlir/Pass/PassBase.td"

def ElideEmptyPass : Pass<"dist-schedule-elide-empty", "mlir::ModuleOp"> {
  let summary = "replaces empty values by constants";
  let description = [{
    Replaces every operation whose results have no elements, including conversions between placements, by constants.

    Example:
    ```mlir
    %1 = net.slice %0 starts = [0, 2] limits = [4, 2] steps = [1, 1] : tensor<4x2xf32> -> tensor<4x0xf32>
    // becomes
    %1 = net.constant dense<> : tensor<4x0xf32>
    ```
  }];
  let dependentDialects = ["::meshwright::net::NetDialect"];
  let statistics = [Statistic<"numElided", "elided", "Operations whose results have no elements">];
}

def ExpandSumsPass : Pass<"dist-schedule-expand-sums", "mlir::ModuleOp"> {
  let summary = "adds the parts of sums by a tree";
  let description = [{
    A sum, scatter or convolution in several parts (`net.sum_parts`) becomes one for each part, and additions of
    neighbours, of pairs of neighbours, and so on. A conversion with `net.sum_parts` rounds each part; its operand has to
    be the sum itself. Zeros fill up a shorter last part of a sum. A product keeps its parts. A sum whose result ends in
    dimensions of size 1 is that of two equal columns.

    Example:
    ```mlir
    %1 = net.reduce sum %0 dims = [0] {net.sum_parts = 2 : i64} : tensor<6x3xf32> -> tensor<3xf32>
    // becomes
    %2 = net.reshape %0 : tensor<6x3xf32> -> tensor<2x3x3xf32>
    %3 = net.reduce sum %2 dims = [1] : tensor<2x3x3xf32> -> tensor<2x3xf32>
    %4 = net.slice %3 starts = [0, 0] limits = [1, 3] steps = [1, 1] : tensor<2x3xf32> -> tensor<1x3xf32>
    %5 = net.reshape %4 : tensor<1x3xf32> -> tensor<3xf32>
    %6 = net.slice %3 starts = [1, 0] limits = [2, 3] steps = [1, 1] : tensor<2x3xf32> -> tensor<1x3xf32>
    %7 = net.reshape %6 : tensor<1x3xf32> -> tensor<3xf32>
    %1 = net.add %5, %7 : tensor<3xf32>
    ```
  }];
  let dependentDialects = ["::meshwright::net::NetDialect"];
  let statistics = [Statistic<"numExpanded", "expanded", "Sums and scatters in several parts">];
}

def LowerLoopsPass : Pass<"dist-schedule-lower-loops", "mlir::ModuleOp"> {
  let summary = "lowers sums, indices and invariants of loops";
  let description = [{
    Turns a sum over iterations into a carried value that begins at zero, and the iteration number into an element of a
    constant with all numbers. Moves loop-invariant operations before the loop. Orders the body: carried values first,
    their next values last.

    Example:
    ```mlir
    %i = net.loop count = 3
    %x = net.exponential %a : tensor<4xf32>
    %c = net.carry %b in %i : tensor<4xf32>
    %y = net.multiply %x, %c : tensor<4xf32>
    %s = net.total %y in %i : tensor<4xf32>
    %n = net.next %y for %c : tensor<4xf32>
    net.end_loop %i
    // becomes
    %x = net.exponential %a : tensor<4xf32>
    %z = net.constant dense<0.0> : tensor<4xf32>
    %i = net.loop count = 3
    %d = net.carry %z in %i : tensor<4xf32>
    %c = net.carry %b in %i : tensor<4xf32>
    %y = net.multiply %x, %c : tensor<4xf32>
    %t = net.add %d, %y : tensor<4xf32>
    %s = net.next %t for %d : tensor<4xf32>
    %n = net.next %y for %c : tensor<4xf32>
    net.end_loop %i
    ```
  }];
  let dependentDialects = ["::meshwright::net::NetDialect"];
  let statistics = [Statistic<"numHoisted", "hoisted", "Loop-invariant operations">];
}

def ShareProductsPass : Pass<"dist-schedule-share-products", "mlir::ModuleOp"> {
  let summary = "makes products of iterations one product before or after the loop";
  let description = [{
    A product of a part of a stack and an invariant value becomes one product of the whole stack before the loop. A sum
    of products over all iterations becomes one product of stacks after the loop, and so does a stack of an expression
    of products with invariant values. Products of carried values stay. Functions whose sums have a fixed order are left
    alone.

    What is stacked in addition is, per iteration, no larger than the operand or the sum that the iteration need not
    read any more, and in total no larger than the stacks that the loop reads and writes anyway.

    Example:
    ```mlir
    %i = net.loop count = 8
    %c = net.carry %h in %i : tensor<2x4xf32>
    %x = net.take %xs in %i : tensor<8x2x3xf32> -> tensor<2x3xf32>
    %p = net.dot %x, %w batch = [] x [] contract = [1] x [0] : tensor<2x3xf32>, tensor<3x4xf32> -> tensor<2x4xf32>
    %s = net.add %p, %c : tensor<2x4xf32>
    %a = net.stack %s in %i : tensor<2x4xf32> -> tensor<8x2x4xf32>
    %n = net.next %s for %c : tensor<2x4xf32>
    net.end_loop %i
    // becomes
    %ps = net.dot %xs, %w batch = [] x [] contract = [2] x [0] : tensor<8x2x3xf32>, tensor<3x4xf32> -> tensor<8x2x4xf32>
    %i = net.loop count = 8
    %c = net.carry %h in %i : tensor<2x4xf32>
    %p = net.take %ps in %i : tensor<8x2x4xf32> -> tensor<2x4xf32>
    %s = net.add %p, %c : tensor<2x4xf32>
    %a = net.stack %s in %i : tensor<2x4xf32> -> tensor<8x2x4xf32>
    %n = net.next %s for %c : tensor<2x4xf32>
    net.end_loop %i
    ```
  }];
  let dependentDialects = ["::meshwright::net::NetDialect"];
  let statistics = [Statistic<"numBefore", "before", "Products that were moved before a loop">,
                    Statistic<"numAfter", "after", "Sums and stacks that are computed after a loop">];
}

def ReuseStacksPass : Pass<"dist-schedule-reuse-stacks", "mlir::ModuleOp"> {
  let summary = "reads carried values from the stacks of what they become";
  let description = [{
    A stack of a carried value holds what the stack of the next values holds, shifted by an iteration, after the value
    that the loop begins with. Where both are stacked and only products that sum over the iterations read the first, they
    read the second in its place, and the value at the beginning by products of their own. The results of these products
    together have no more bytes than the stack. Functions whose sums have a fixed order are left alone.

    Example:
    ```mlir
    %i = net.loop count = 8
    %c = net.carry %h in %i : tensor<2x4xf32>
    %y = net.tanh %c : tensor<2x4xf32>
    %a = net.stack %c in %i : tensor<2x4xf32> -> tensor<8x2x4xf32>
    %b = net.stack %y in %i : tensor<2x4xf32> -> tensor<8x2x4xf32>
    %n = net.next %y for %c : tensor<2x4xf32>
    net.end_loop %i
    %p = net.dot %a, %d batch = [] x [] contract = [0, 1] x [0, 1] : tensor<8x2x4xf32>, tensor<8x2x3xf32> -> tensor<4x3xf32>
    // after the loop becomes
    %h1 = net.reshape %h : tensor<2x4xf32> -> tensor<1x2x4xf32>
    %d0 = net.slice %d starts = [0, 0, 0] limits = [1, 2, 3] steps = [1, 1, 1] : tensor<8x2x3xf32> -> tensor<1x2x3xf32>
    %p0 = net.dot %h1, %d0 batch = [] x [] contract = [0, 1] x [0, 1] : tensor<1x2x4xf32>, tensor<1x2x3xf32> -> tensor<4x3xf32>
    %b0 = net.slice %b starts = [0, 0, 0] limits = [7, 2, 4] steps = [1, 1, 1] : tensor<8x2x4xf32> -> tensor<7x2x4xf32>
    %d1 = net.slice %d starts = [1, 0, 0] limits = [8, 2, 3] steps = [1, 1, 1] : tensor<8x2x3xf32> -> tensor<7x2x3xf32>
    %p1 = net.dot %b0, %d1 batch = [] x [] contract = [0, 1] x [0, 1] : tensor<7x2x4xf32>, tensor<7x2x3xf32> -> tensor<4x3xf32>
    %p = net.add %p0, %p1 : tensor<4x3xf32>
    ```
  }];
  let dependentDialects = ["::meshwright::net::NetDialect"];
  let statistics = [Statistic<"numStacks", "stacks", "Stacks of carried values that are not made any more">];
}

def PadProductsPass : Pass<"dist-schedule-pad-products", "mlir::ModuleOp"> {
  let summary = "gives matrices of 16-bit floats rows that begin at multiples of 16 bytes";
  let description = [{
    Tensor cores of a GPU read rows of matrices that begin at multiples of 16 bytes. In large products of 16-bit floats,
    a dimension along which rows of an operand or of the result lie gets zeros at its end if its size is not a multiple
    of 8. The result is cut. Zeros add nothing to sums.

    Example:
    ```mlir
    %1 = net.dot %x, %w batch = [] x [] contract = [1] x [0] : tensor<1024x768xbf16>, tensor<768x1021xbf16> -> tensor<1024x1021xbf16>
    // becomes
    %2 = net.constant dense<0.0> : tensor<bf16>
    %3 = net.pad %w, %2 low = [0, 0] high = [0, 3] interior = [0, 0] : tensor<768x1021xbf16> -> tensor<768x1024xbf16>
    %4 = net.dot %x, %3 batch = [] x [] contract = [1] x [0] : tensor<1024x768xbf16>, tensor<768x1024xbf16> -> tensor<1024x1024xbf16>
    %1 = net.slice %4 starts = [0, 0] limits = [1024, 1021] steps = [1, 1] : tensor<1024x1024xbf16> -> tensor<1024x1021xbf16>
    ```
  }];
  let dependentDialects = ["::meshwright::net::NetDialect"];
  let statistics = [Statistic<"numPadded", "padded", "Products with a dimension that was padded">];
}

def VerifyPass : Pass<"dist-schedule-verify", "mlir::ModuleOp"> {
  let summary = "checks that no two live values overlap in memory";
  let description = [{
    Checks that every operation is one that the runtime executes or part of a kernel, that every value has a place
    inside the arena, that values alive at the same time do not overlap unless one is declared to overwrite the other,
    and that the old value of a variable is not read after it was overwritten. The same holds in the host's memory,
    which only copies read and write. Programs of different ranks issue the same collectives in each of their groups, in
    an order in which all can take place.
  }];
}

#endif
