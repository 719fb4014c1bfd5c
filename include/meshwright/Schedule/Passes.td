//===- Passes.td - the passes of Schedule ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SCHEDULE_PASSES_TD
#define MESHWRIGHT_SCHEDULE_PASSES_TD

include "mlir/Pass/PassBase.td"

def LowerConversionsPass : Pass<"dist-schedule-lower-conversions", "mlir::ModuleOp"> {
  let summary = "makes collectives act on contiguous memory";
  let description = [{
    Gathering along an inner dimension becomes gathering along a new outermost one and a transposition that puts the parts where
    they belong; scattering and exchanging likewise. Local conversions become operations of `net` on the rank's coordinate.
    What is added is fused with its neighbours like any other operation. Parts of uneven size travel padded.

    Example: `dist.c_allgather` of `tensor<4x3xf32>` along dimension 1 over two ranks gathers to `tensor<2x4x3xf32>`, which is transposed to
    `4x2x3` and reshaped to `4x6`.
  }];
  let dependentDialects = ["::meshwright::dist::DistDialect", "::meshwright::net::NetDialect"];
}

def FormKernelsPass : Pass<"dist-schedule-form-kernels", "mlir::ModuleOp"> {
  let summary = "groups operations into kernels and products of the library";
  let description = [{
    Elementwise operations, reductions and what lies between them become `dist.kernel`s by a greedy, linear clustering. Layout
    operations go into every kernel that reads through them, and cost nothing there; products read through them by
    strides and become `dist.matmul`s. What has to be contiguous in memory and is not is copied by a kernel.

    Example:
    ```mlir
    %1 = net.transpose %0 dims = [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
    %2 = net.dot %x, %1 batch = [] x [] contract = [1] x [0] : tensor<2x8xf32>, tensor<8x4xf32> -> tensor<2x4xf32>
    // becomes
    %2 = dist.matmul %x at 0 [8, 1], %0 at 0 [1, 8] to [4, 1] batch [] m 2 n 4 k 8 : …
    ```
  }];
  let dependentDialects = ["::meshwright::dist::DistDialect", "::meshwright::net::NetDialect", "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect", "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
  let statistics = [Statistic<"numKernels", "kernels", "Number of kernels formed">,
                    Statistic<"numProducts", "products", "Number of products for the library">,
                    Statistic<"numCopies", "copies", "Number of layout operations that had to be computed">];
}

def AssignBuffersPass : Pass<"dist-schedule-assign-buffers", "mlir::ModuleOp"> {
  let summary = "gives every value its place in one arena per rank";
  let description = [{
    The arena begins with what persists from step to step: variables, inputs, constants and coordinates. Behind it every other value has
    an offset that no value shares while it lives. A variable is updated in place where nothing reads its old value later.

    States `dist.offsets` on operations (one per result, in bytes), `dist.offset` on arguments, and on the function `dist.arena_bytes`,
    `dist.persistent_bytes` and `dist.variables`.

    Example: `net.exponential` after `net.negate` in different kernels get offsets 64 bytes apart, and the first is free again afterwards.
  }];
  let dependentDialects = ["::meshwright::dist::DistDialect", "::meshwright::net::NetDialect", "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect", "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
}

def VerifyPass : Pass<"dist-schedule-verify", "mlir::ModuleOp"> {
  let summary = "checks that no two live values overlap in memory";
  let description = [{
    Afterwards every operation is one that the runtime executes or part of a kernel, every value has a place inside the arena, values that
    live at the same time lie apart but where one is declared to be in the other's place, and the old value of a variable is not read after it was overwritten.
  }];
}

#endif
