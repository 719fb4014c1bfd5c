// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s --dist-train-assign-precision="compute=bf16" | FileCheck %s

// Tests which functions of what is in 16 bit keep the type they are written in: sums, exponentials, logarithms, powers, roots, and those with
// poles or infinite slopes.

func.func @step(%x: tensor<4x4xf32>, %at: tensor<4x1xi32>) -> tensor<4x4xf32> {
  %y = net.dot %x, %x batch = [] x [] contract = [1] x [0] : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %acos = net.acos %y : tensor<4x4xf32>
  %acosh = net.acosh %y : tensor<4x4xf32>
  %asin = net.asin %y : tensor<4x4xf32>
  %asinh = net.asinh %y : tensor<4x4xf32>
  %atanh = net.atanh %y : tensor<4x4xf32>
  %cbrt = net.cbrt %y : tensor<4x4xf32>
  %cosh = net.cosh %y : tensor<4x4xf32>
  %digamma = net.digamma %y : tensor<4x4xf32>
  %erfc = net.erfc %y : tensor<4x4xf32>
  %exponential = net.exponential %y : tensor<4x4xf32>
  %exponential_minus_one = net.exponential_minus_one %y : tensor<4x4xf32>
  %lgamma = net.lgamma %y : tensor<4x4xf32>
  %log = net.log %y : tensor<4x4xf32>
  %log_plus_one = net.log_plus_one %y : tensor<4x4xf32>
  %rsqrt = net.rsqrt %y : tensor<4x4xf32>
  %sinh = net.sinh %y : tensor<4x4xf32>
  %sqrt = net.sqrt %y : tensor<4x4xf32>
  %tan = net.tan %y : tensor<4x4xf32>
  %abs = net.abs %y : tensor<4x4xf32>
  %ceil = net.ceil %y : tensor<4x4xf32>
  %cosine = net.cosine %y : tensor<4x4xf32>
  %erf = net.erf %y : tensor<4x4xf32>
  %floor = net.floor %y : tensor<4x4xf32>
  %logistic = net.logistic %y : tensor<4x4xf32>
  %negate = net.negate %y : tensor<4x4xf32>
  %round_nearest_even = net.round_nearest_even %y : tensor<4x4xf32>
  %sign = net.sign %y : tensor<4x4xf32>
  %sine = net.sine %y : tensor<4x4xf32>
  %tanh = net.tanh %y : tensor<4x4xf32>
  %power = net.power %y, %y : tensor<4x4xf32>
  %atan2 = net.atan2 %y, %y : tensor<4x4xf32>
  %divide = net.divide %y, %y : tensor<4x4xf32>
  %remainder = net.remainder %y, %y : tensor<4x4xf32>
  %scatter_add = net.scatter add %y, %at, %y <updateWindowDims = [1], insertedDims = [0], scatterDimsToOperandDims = [0], indexVectorDim = 1> : tensor<4x4xf32>, tensor<4x1xi32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %scatter_multiply = net.scatter multiply %y, %at, %y <updateWindowDims = [1], insertedDims = [0], scatterDimsToOperandDims = [0], indexVectorDim = 1> : tensor<4x4xf32>, tensor<4x1xi32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %scatter_max = net.scatter max %y, %at, %y <updateWindowDims = [1], insertedDims = [0], scatterDimsToOperandDims = [0], indexVectorDim = 1> : tensor<4x4xf32>, tensor<4x1xi32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %scatter_min = net.scatter min %y, %at, %y <updateWindowDims = [1], insertedDims = [0], scatterDimsToOperandDims = [0], indexVectorDim = 1> : tensor<4x4xf32>, tensor<4x1xi32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %scatter_assign = net.scatter assign %y, %at, %y <updateWindowDims = [1], insertedDims = [0], scatterDimsToOperandDims = [0], indexVectorDim = 1> : tensor<4x4xf32>, tensor<4x1xi32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %cholesky = net.cholesky %y : tensor<4x4xf32>
  %solve = net.triangular_solve %y, %y : tensor<4x4xf32>, tensor<4x4xf32>
  %s0 = net.add %acos, %acosh : tensor<4x4xf32>
  %s1 = net.add %s0, %asin : tensor<4x4xf32>
  %s2 = net.add %s1, %asinh : tensor<4x4xf32>
  %s3 = net.add %s2, %atanh : tensor<4x4xf32>
  %s4 = net.add %s3, %cbrt : tensor<4x4xf32>
  %s5 = net.add %s4, %cosh : tensor<4x4xf32>
  %s6 = net.add %s5, %digamma : tensor<4x4xf32>
  %s7 = net.add %s6, %erfc : tensor<4x4xf32>
  %s8 = net.add %s7, %exponential : tensor<4x4xf32>
  %s9 = net.add %s8, %exponential_minus_one : tensor<4x4xf32>
  %s10 = net.add %s9, %lgamma : tensor<4x4xf32>
  %s11 = net.add %s10, %log : tensor<4x4xf32>
  %s12 = net.add %s11, %log_plus_one : tensor<4x4xf32>
  %s13 = net.add %s12, %rsqrt : tensor<4x4xf32>
  %s14 = net.add %s13, %sinh : tensor<4x4xf32>
  %s15 = net.add %s14, %sqrt : tensor<4x4xf32>
  %s16 = net.add %s15, %tan : tensor<4x4xf32>
  %s17 = net.add %s16, %abs : tensor<4x4xf32>
  %s18 = net.add %s17, %ceil : tensor<4x4xf32>
  %s19 = net.add %s18, %cosine : tensor<4x4xf32>
  %s20 = net.add %s19, %erf : tensor<4x4xf32>
  %s21 = net.add %s20, %floor : tensor<4x4xf32>
  %s22 = net.add %s21, %logistic : tensor<4x4xf32>
  %s23 = net.add %s22, %negate : tensor<4x4xf32>
  %s24 = net.add %s23, %round_nearest_even : tensor<4x4xf32>
  %s25 = net.add %s24, %sign : tensor<4x4xf32>
  %s26 = net.add %s25, %sine : tensor<4x4xf32>
  %s27 = net.add %s26, %tanh : tensor<4x4xf32>
  %s28 = net.add %s27, %power : tensor<4x4xf32>
  %s29 = net.add %s28, %atan2 : tensor<4x4xf32>
  %s30 = net.add %s29, %divide : tensor<4x4xf32>
  %s31 = net.add %s30, %remainder : tensor<4x4xf32>
  %s32 = net.add %s31, %scatter_add : tensor<4x4xf32>
  %s33 = net.add %s32, %scatter_multiply : tensor<4x4xf32>
  %s34 = net.add %s33, %scatter_max : tensor<4x4xf32>
  %s35 = net.add %s34, %scatter_min : tensor<4x4xf32>
  %s36 = net.add %s35, %scatter_assign : tensor<4x4xf32>
  %s37 = net.add %s36, %cholesky : tensor<4x4xf32>
  %s38 = net.add %s37, %solve : tensor<4x4xf32>
  return %s38 : tensor<4x4xf32>
}
// CHECK: net.dot
// CHECK: net.acos %{{.*}} : tensor<4x4xf32>
// CHECK: net.acosh %{{.*}} : tensor<4x4xf32>
// CHECK: net.asin %{{.*}} : tensor<4x4xf32>
// CHECK: net.asinh %{{.*}} : tensor<4x4xf32>
// CHECK: net.atanh %{{.*}} : tensor<4x4xf32>
// CHECK: net.cbrt %{{.*}} : tensor<4x4xf32>
// CHECK: net.cosh %{{.*}} : tensor<4x4xf32>
// CHECK: net.digamma %{{.*}} : tensor<4x4xf32>
// CHECK: net.erfc %{{.*}} : tensor<4x4xf32>
// CHECK: net.exponential %{{.*}} : tensor<4x4xf32>
// CHECK: net.exponential_minus_one %{{.*}} : tensor<4x4xf32>
// CHECK: net.lgamma %{{.*}} : tensor<4x4xf32>
// CHECK: net.log %{{.*}} : tensor<4x4xf32>
// CHECK: net.log_plus_one %{{.*}} : tensor<4x4xf32>
// CHECK: net.rsqrt %{{.*}} : tensor<4x4xf32>
// CHECK: net.sinh %{{.*}} : tensor<4x4xf32>
// CHECK: net.sqrt %{{.*}} : tensor<4x4xf32>
// CHECK: net.tan %{{.*}} : tensor<4x4xf32>
// CHECK: net.abs %{{.*}} : tensor<4x4xbf16>
// CHECK: net.ceil %{{.*}} : tensor<4x4xbf16>
// CHECK: net.cosine %{{.*}} : tensor<4x4xbf16>
// CHECK: net.erf %{{.*}} : tensor<4x4xbf16>
// CHECK: net.floor %{{.*}} : tensor<4x4xbf16>
// CHECK: net.logistic %{{.*}} : tensor<4x4xbf16>
// CHECK: net.negate %{{.*}} : tensor<4x4xbf16>
// CHECK: net.round_nearest_even %{{.*}} : tensor<4x4xbf16>
// CHECK: net.sign %{{.*}} : tensor<4x4xbf16>
// CHECK: net.sine %{{.*}} : tensor<4x4xbf16>
// CHECK: net.tanh %{{.*}} : tensor<4x4xbf16>
// CHECK: net.power %{{.*}} : tensor<4x4xf32>
// CHECK: net.atan2 %{{.*}} : tensor<4x4xbf16>
// CHECK: net.divide %{{.*}} : tensor<4x4xbf16>
// CHECK: net.remainder %{{.*}} : tensor<4x4xbf16>
// CHECK: net.scatter add {{.*}} -> tensor<4x4xf32>
// CHECK: net.scatter multiply {{.*}} -> tensor<4x4xf32>
// CHECK: net.scatter max {{.*}} -> tensor<4x4xbf16>
// CHECK: net.scatter min {{.*}} -> tensor<4x4xbf16>
// CHECK: net.scatter assign {{.*}} -> tensor<4x4xbf16>
// CHECK: net.cholesky %{{.*}} : tensor<4x4xf32>
// CHECK: net.triangular_solve %{{.*}} : tensor<4x4xf32>
