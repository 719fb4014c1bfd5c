// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every operation of the foreign dialect. Sizes do not divide by those of the mesh.
func.func public @step(%x: tensor<7x10xf64> {net.name = "x"},
                       %w: tensor<11x10xf64> {net.name = "w"},
                       %v: tensor<5x11xf64> {net.name = "v"},
                       %u: tensor<2x12xf64> {net.name = "u"})
    -> (tensor<7xf64> {net.name = "sums"}, tensor<7x5xf64> {net.name = "product"}, tensor<2x12xf64> {net.name = "ramp"}) {
  %0 = foreign.scale %x by 0.5 : tensor<7x10xf64>
  %1 = foreign.matmul %0, %w : tensor<7x10xf64>, tensor<11x10xf64> -> tensor<7x11xf64>
  %2 = foreign.ramp %1 dim 1 step 0.25 : tensor<7x11xf64>
  %3 = foreign.row_sum %2 : tensor<7x11xf64> -> tensor<7xf64>
  %4 = foreign.matmul %2, %v : tensor<7x11xf64>, tensor<5x11xf64> -> tensor<7x5xf64>
  %5 = foreign.scale %4 by 2.0 : tensor<7x5xf64>
  %6 = foreign.ramp %5 dim 0 step 1.0 : tensor<7x5xf64>
  %7 = foreign.ramp %u dim 1 step 3.0 : tensor<2x12xf64>
  return %3, %6, %7 : tensor<7xf64>, tensor<7x5xf64>, tensor<2x12xf64>
}
