// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: compare-gpu-kernels %s %t | FileCheck %s

// Tests that kernels whose scores have no plan are computed like others: axes that the product has not, no product, and a
// result that is as large as the scores. A plan needs no more columns than there are.
// CHECK: 4 kernels compared
// CHECK-NEXT: {{[0-9]}} launches by elements
// CHECK-NEXT: {{[0-9]}} launches by rows
// CHECK-NEXT: 1 launches by tiles
// CHECK-NOT: launches
module {
  func.func @f(%x: tensor<8x4xbf16>, %y: tensor<16x4xbf16>, %z: tensor<8xf32>) -> (tensor<8x16xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8x16xf32>) {
    %0 = dist.kernel(%x, %y) scores <rows = 5, columns = 6, visible = [0, 4]> {
    ^bb0(%a: tensor<8x4xbf16>, %b: tensor<16x4xbf16>):
      %s = net.dot %a, %b batch = [] x [] contract = [1] x [1] : tensor<8x4xbf16>, tensor<16x4xbf16> -> tensor<8x16xf32>
      dist.yield %s : tensor<8x16xf32>
    } : (tensor<8x4xbf16>, tensor<16x4xbf16>) -> tensor<8x16xf32>
    %1 = dist.kernel(%z) scores <rows = 0, columns = 1, visible = [0, 16]> {
    ^bb0(%a: tensor<8xf32>):
      %s = net.negate %a : tensor<8xf32>
      dist.yield %s : tensor<8xf32>
    } : (tensor<8xf32>) -> tensor<8xf32>
    %2 = dist.kernel(%x, %y) scores <rows = 0, columns = 1, visible = [0, 99]> {
    ^bb0(%a: tensor<8x4xbf16>, %b: tensor<16x4xbf16>):
      %s = net.dot %a, %b batch = [] x [] contract = [1] x [1] : tensor<8x4xbf16>, tensor<16x4xbf16> -> tensor<8x16xf32>
      %m = net.reduce max %s dims = [1] : tensor<8x16xf32> -> tensor<8xf32>
      dist.yield %m : tensor<8xf32>
    } : (tensor<8x4xbf16>, tensor<16x4xbf16>) -> tensor<8xf32>
    %3 = dist.kernel(%x, %y) scores <rows = 0, columns = 1, visible = [0, 16]> {
    ^bb0(%a: tensor<8x4xbf16>, %b: tensor<16x4xbf16>):
      %s = net.dot %a, %b batch = [] x [] contract = [1] x [1] : tensor<8x4xbf16>, tensor<16x4xbf16> -> tensor<8x16xf32>
      %m = net.reduce max %s dims = [] : tensor<8x16xf32> -> tensor<8x16xf32>
      dist.yield %m : tensor<8x16xf32>
    } : (tensor<8x4xbf16>, tensor<16x4xbf16>) -> tensor<8x16xf32>
    return %0, %1, %2, %3 : tensor<8x16xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8x16xf32>
  }
}
