// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s --dist-import-convert-stablehlo -verify-diagnostics -split-input-file

func.func @library(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // expected-error @below {{stablehlo.custom_call of @lapack_sgeqrf_ffi is not supported; only Cholesky factors and triangular systems of LAPACK are; leave other calls out of the network}}
  %0:2 = stablehlo.custom_call @lapack_sgeqrf_ffi(%x) : (tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4xf32>)
  return %0#0 : tensor<4x4xf32>
}

// -----

func.func @gpu(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // expected-error @below {{stablehlo.custom_call of @__cudnn$convForward is not supported; export on a CPU (JAX_PLATFORMS=cpu), which writes the operations themselves}}
  %0 = stablehlo.custom_call @"__cudnn$convForward"(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// -----

func.func @callback(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{stablehlo.custom_call of @xla_ffi_python_cpu_callback is not supported; a network cannot call Python; leave debug prints and callbacks out of the export}}
  %0 = stablehlo.custom_call @xla_ffi_python_cpu_callback(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @manual(%x: tensor<4xf32>) -> tensor<2xf32> {
  // expected-error @below {{stablehlo.custom_call of @SPMDFullToShardShape is not supported; export without manual sharding; the strategy says how the network is split}}
  %0 = stablehlo.custom_call @SPMDFullToShardShape(%x) : (tensor<4xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

func.func @other(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{stablehlo.custom_call of @my_kernel is not supported; express it in operations of StableHLO}}
  %0 = stablehlo.custom_call @my_kernel(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @types(%x: tensor<4xf32>) -> tensor<2xf32> {
  // expected-error @below {{stablehlo.custom_call passes 'tensor<4xf32>' on as 'tensor<2xf32>'}}
  %0 = stablehlo.custom_call @Sharding(%x) : (tensor<4xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
