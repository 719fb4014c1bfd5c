//===- Passes.td - forming kernels ----------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_KERNELS_PASSES_TD
#define MESHWRIGHT_KERNELS_PASSES_TD

include "meshwright/Strategy/FieldOption.td"

def FormScoreKernelsPass : Pass<"dist-schedule-form-score-kernels", "mlir::ModuleOp"> {
  let summary = "makes an attention of 16-bit floats one kernel";
  let description = [{
    Puts the operations around a matrix of scores, such as those of an attention, into one `dist.kernel` with `scores`, if
    its products multiply floats of 16 bits. Tensor cores of GPUs compute it by tiles that stay in registers
    (ScorePlan.h). The scores are found as `dist-schedule-tile-regions` finds them, which computes those by loops that no
    kernel of this kind is planned for.

    Scores are f32 in the kernel, unless one of their sums is read with scores outside of kernels.

    Example:
    ```mlir
    %s = net.dot %q, %k batch = [] x [] contract = [1] x [1] : tensor<128x8xbf16>, tensor<128x8xbf16> -> tensor<128x128xbf16>
    // becomes, with all that is computed of it up to a sum or a product
    %o = dist.kernel(%q, %k, %v) scores <rows = 0, columns = 1, visible = [0, 128, 0, 128]> {
    ```
  }];
  let dependentDialects = ["::meshwright::dist::DistDialect", "::meshwright::net::NetDialect", "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect", "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
  let options = [FieldOption<"minBytes", "min-bytes", Tiles_min_bytes>];
  let statistics = [Statistic<"numKernels", "kernels", "Regions of scores that are one kernel">];
}

def FormKernelsPass : Pass<"dist-schedule-form-kernels", "mlir::ModuleOp"> {
  let summary = "groups operations into kernels and library GEMMs";
  let description = [{
    Clusters elementwise operations, reductions and the layout operations between them into `dist.kernel`s, greedily and
    in linear time. Layout operations join every kernel that reads through them and cost nothing there; GEMMs read
    through them by strides and become `dist.matmul`s. Convolutions of floats stay operations on contiguous operands. A
    kernel copies an operand that has to be contiguous and is not.

    With `library-epilogues`, the sum of a smaller value and a GEMM's result without other readers is stored if several
    kernels read it, instead of recomputed from the GEMM's result: a library may then compute it without storing that
    result (`dist-schedule-annotate-epilogues`).

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
  let options = [Option<"libraryConvolutions", "library-convolutions", "bool", /*default=*/"true",
                        "True if the library computes convolutions, as on CPUs; otherwise kernels do.">,
                 Option<"libraryEpilogues", "library-epilogues", "bool", /*default=*/"false",
                        "True if the library may add a bias to a GEMM, as on GPUs.">];
  let statistics = [Statistic<"numKernels", "kernels", "Number of kernels formed">,
                    Statistic<"numProducts", "products", "Number of GEMMs and convolutions for the library">,
                    Statistic<"numCopies", "copies", "Number of layout operations that had to be computed">];
}

def AnnotateEpiloguesPass : Pass<"dist-schedule-annotate-epilogues", "mlir::ModuleOp"> {
  let summary = "marks kernels that a library may compute as a GEMM's epilogue";
  let description = [{
    Marks a GEMM of f32, bf16 or f16 with `dist.epilogue` if the kernel directly after it only adds a vector along its
    last dimension, applies GELU by the tanh approximation, or both, in whatever form these are written; the sum may be
    stored beside its GELU. The GEMM's result must have no other reader, unless it is itself the input of the GELU. The
    GEMM's operands keep their places until the kernel is over.

    Example:
    ```mlir
    %0 = dist.matmul %x at 0 [4, 1], %w at 0 [8, 1] to [8, 1] batch [] m 2 n 8 k 4 {dist.epilogue} : tensor<2x4xf32>, tensor<4x8xf32> -> tensor<2x8xf32>
    %1 = dist.kernel(%0, %b) {
    ^bb0(%x0: tensor<2x8xf32>, %b0: tensor<8xf32>):
      %2 = net.broadcast %b0 dims = [1] : tensor<8xf32> -> tensor<2x8xf32>
      %3 = net.add %x0, %2 : tensor<2x8xf32>
      dist.yield %3 : tensor<2x8xf32>
    } : (tensor<2x8xf32>, tensor<8xf32>) -> tensor<2x8xf32>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect", "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
  let statistics = [Statistic<"numEpilogues", "epilogues", "Number of GEMMs with an epilogue">];
}

#endif
