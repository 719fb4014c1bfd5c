// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s --dist-import-convert-stablehlo -verify-diagnostics -split-input-file

func.func @comparator(%x: tensor<6xf32>) -> tensor<6xf32> {
  // expected-error @below {{stablehlo.sort has a comparator that is not known; less or greater of the elements of operands is}}
  %0 = "stablehlo.sort"(%x) <{dimension = 0 : i64}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %sum = stablehlo.add %a, %b : tensor<f32>
    %less = stablehlo.compare LT, %sum, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  }) : (tensor<6xf32>) -> tensor<6xf32>
  return %0 : tensor<6xf32>
}

// -----

// Tests directions that differ.
func.func @directions(%x: tensor<6xi32>, %y: tensor<6xi32>) -> tensor<6xi32> {
  // expected-error @below {{stablehlo.sort has a comparator that is not known}}
  %0:2 = "stablehlo.sort"(%x, %y) <{dimension = 0 : i64}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<i32>, %d: tensor<i32>):
    %first = stablehlo.compare LT, %a, %b, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %equal = stablehlo.compare EQ, %a, %b, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %second = stablehlo.compare GT, %c, %d, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %both = stablehlo.and %equal, %second : tensor<i1>
    %either = stablehlo.or %first, %both : tensor<i1>
    stablehlo.return %either : tensor<i1>
  }) : (tensor<6xi32>, tensor<6xi32>) -> (tensor<6xi32>, tensor<6xi32>)
  return %0#0 : tensor<6xi32>
}

// -----

func.func @dimension(%x: tensor<6xi32>) -> tensor<6xi32> {
  // expected-error @below {{stablehlo.sort sorts along dimension 1 of a tensor of rank 1}}
  %0 = "stablehlo.sort"(%x) <{dimension = 1 : i64}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %first = stablehlo.compare LT, %a, %b, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %first : tensor<i1>
  }) : (tensor<6xi32>) -> tensor<6xi32>
  return %0 : tensor<6xi32>
}

// -----

func.func @shapes(%x: tensor<6xi32>, %y: tensor<5xi32>) -> tensor<6xi32> {
  // expected-error @below {{stablehlo.sort sorts 'tensor<5xi32>' into 'tensor<5xi32>' together with 'tensor<6xi32>'}}
  %0:2 = "stablehlo.sort"(%x, %y) <{dimension = 0 : i64}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<i32>, %d: tensor<i32>):
    %first = stablehlo.compare LT, %a, %b, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %first : tensor<i1>
  }) : (tensor<6xi32>, tensor<5xi32>) -> (tensor<6xi32>, tensor<5xi32>)
  return %0#0 : tensor<6xi32>
}

// -----

func.func @top(%x: tensor<6xf32>) -> tensor<7xf32> {
  // expected-error @below {{chlo.top_k takes the 7 largest of 'tensor<6xf32>'}}
  %0, %1 = chlo.top_k(%x, k = 7) : tensor<6xf32> -> (tensor<7xf32>, tensor<7xi32>)
  return %0 : tensor<7xf32>
}

// -----

func.func @top_type(%x: tensor<6xf32>) -> tensor<2xf32> {
  // expected-error @below {{chlo.top_k computes 'tensor<2xf32>' and 'tensor<2xi64>' from 'tensor<6xf32>'}}
  %0, %1 = chlo.top_k(%x, k = 2) : tensor<6xf32> -> (tensor<2xf32>, tensor<2xi64>)
  return %0 : tensor<2xf32>
}

// -----

func.func @reverse(%x: tensor<6xf32>) -> tensor<6xf64> {
  // expected-error @below {{stablehlo.reverse turns 'tensor<6xf32>' into 'tensor<6xf64>'}}
  %0 = stablehlo.reverse %x, dims = [0] : (tensor<6xf32>) -> tensor<6xf64>
  return %0 : tensor<6xf64>
}

// -----

func.func @parts(%x: tensor<4x6xf32>, %i: tensor<4x6xi32>, %least: tensor<f32>, %none: tensor<i32>) -> tensor<4x6xf32> {
  // expected-error @below {{stablehlo.custom_call of @ApproxTopK leaves as many candidates as another compiler chooses; export with aggregate_to_topk=True}}
  %0:2 = "stablehlo.custom_call"(%x, %i, %least, %none) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):
    %1 = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) {call_target_name = "ApproxTopK", mhlo.backend_config = {aggregate_to_topk = false, reduction_dim = 1 : i64, top_k = 2 : i64}} : (tensor<4x6xf32>, tensor<4x6xi32>, tensor<f32>, tensor<i32>) -> (tensor<4x6xf32>, tensor<4x6xi32>)
  return %0#0 : tensor<4x6xf32>
}

// -----

func.func @too_many(%x: tensor<4x6xf32>, %i: tensor<4x6xi32>, %least: tensor<f32>, %none: tensor<i32>) -> tensor<4x7xf32> {
  // expected-error @below {{stablehlo.custom_call takes the 7 first along dimension 1 of 'tensor<4x6xf32>'}}
  %0:2 = stablehlo.custom_call @ApproxTopK(%x, %i, %least, %none) {mhlo.backend_config = {aggregate_to_topk = true, reduction_dim = 1 : i64, top_k = 7 : i64}} : (tensor<4x6xf32>, tensor<4x6xi32>, tensor<f32>, tensor<i32>) -> (tensor<4x7xf32>, tensor<4x7xi32>)
  return %0#0 : tensor<4x7xf32>
}

// -----

func.func @shapes(%x: tensor<4x6xf32>, %i: tensor<4x6xi32>, %least: tensor<f32>, %none: tensor<i32>) -> tensor<4x3xf32> {
  // expected-error @below {{stablehlo.custom_call computes 'tensor<4x3xf32>' from 'tensor<4x6xf32>'}}
  %0:2 = stablehlo.custom_call @ApproxTopK(%x, %i, %least, %none) {mhlo.backend_config = {aggregate_to_topk = true, reduction_dim = 1 : i64, top_k = 2 : i64}} : (tensor<4x6xf32>, tensor<4x6xi32>, tensor<f32>, tensor<i32>) -> (tensor<4x3xf32>, tensor<4x3xi32>)
  return %0#0 : tensor<4x3xf32>
}

// -----

func.func @no_comparator(%x: tensor<4x6xf32>, %i: tensor<4x6xi32>, %least: tensor<f32>, %none: tensor<i32>) -> tensor<4x2xf32> {
  // expected-error @below {{stablehlo.custom_call has 0 regions, not one of one block}}
  %0:2 = stablehlo.custom_call @ApproxTopK(%x, %i, %least, %none) {mhlo.backend_config = {aggregate_to_topk = true, reduction_dim = 1 : i64, top_k = 2 : i64}} : (tensor<4x6xf32>, tensor<4x6xi32>, tensor<f32>, tensor<i32>) -> (tensor<4x2xf32>, tensor<4x2xi32>)
  return %0#0 : tensor<4x2xf32>
}

// -----

func.func @by_index(%x: tensor<4x6xf32>, %i: tensor<4x6xi32>, %least: tensor<f32>, %none: tensor<i32>) -> tensor<4x2xf32> {
  // expected-error @below {{stablehlo.custom_call of @ApproxTopK has no comparator that is known; less or greater of the elements of an operand is}}
  %0:2 = "stablehlo.custom_call"(%x, %i, %least, %none) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):
    %1 = stablehlo.compare EQ, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) {call_target_name = "ApproxTopK", mhlo.backend_config = {aggregate_to_topk = true, reduction_dim = 1 : i64, top_k = 2 : i64}} : (tensor<4x6xf32>, tensor<4x6xi32>, tensor<f32>, tensor<i32>) -> (tensor<4x2xf32>, tensor<4x2xi32>)
  return %0#0 : tensor<4x2xf32>
}
