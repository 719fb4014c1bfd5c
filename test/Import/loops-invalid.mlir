// RUN: dist-opt %s --dist-import-loops=unroll -verify-diagnostics -split-input-file

// Tests that the first number has to be known.

func.func @starts_anywhere(%0: tensor<4xf32>, %first: tensor<i32>) -> tensor<4xf32> {
  // expected-error @below {{stablehlo.while does not count from a constant to a constant in constant steps; its iteration count has to be known}}
  %1:2 = stablehlo.while(%i = %first, %x = %0) : tensor<i32>, tensor<4xf32>
  cond {
    %bound = stablehlo.constant dense<5> : tensor<i32>
    %2 = stablehlo.compare LT, %i, %bound : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %2 : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %2 = stablehlo.add %i, %one : tensor<i32>
    %3 = stablehlo.tanh %x : tensor<4xf32>
    stablehlo.return %2, %3 : tensor<i32>, tensor<4xf32>
  }
  return %1#1 : tensor<4xf32>
}

// -----

// Tests that the number has to change by addition.

func.func @doubles(%0: tensor<4xf32>) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  // expected-error @below {{stablehlo.while does not count from a constant to a constant in constant steps; its iteration count has to be known}}
  %1:2 = stablehlo.while(%i = %zero, %x = %0) : tensor<i32>, tensor<4xf32>
  cond {
    %bound = stablehlo.constant dense<5> : tensor<i32>
    %2 = stablehlo.compare LT, %i, %bound : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %2 : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %2 = stablehlo.multiply %i, %one : tensor<i32>
    %3 = stablehlo.tanh %x : tensor<4xf32>
    stablehlo.return %2, %3 : tensor<i32>, tensor<4xf32>
  }
  return %1#1 : tensor<4xf32>
}

// -----

// Tests that what is written out is bounded.

func.func @too_many_operations(%0: tensor<4xf32>) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  // expected-error @below {{stablehlo.while runs 3 operations 3334 times; an unrolled loop has up to 10000 operations}}
  %1:2 = stablehlo.while(%i = %zero, %x = %0) : tensor<i32>, tensor<4xf32>
  cond {
    %bound = stablehlo.constant dense<3334> : tensor<i32>
    %2 = stablehlo.compare LT, %i, %bound : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %2 : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %2 = stablehlo.add %i, %one : tensor<i32>
    %3 = stablehlo.tanh %x : tensor<4xf32>
    stablehlo.return %2, %3 : tensor<i32>, tensor<4xf32>
  }
  return %1#1 : tensor<4xf32>
}

// -----

// Tests that a loop that goes on is found out.

func.func @endless(%0: tensor<4xf32>) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  // expected-error @below {{stablehlo.while runs more than 10000000 times}}
  %1:2 = stablehlo.while(%i = %zero, %x = %0) : tensor<i32>, tensor<4xf32>
  cond {
    %bound = stablehlo.constant dense<-1> : tensor<i32>
    %2 = stablehlo.compare GT, %i, %bound : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %2 : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %2 = stablehlo.add %i, %one : tensor<i32>
    %3 = stablehlo.tanh %x : tensor<4xf32>
    stablehlo.return %2, %3 : tensor<i32>, tensor<4xf32>
  }
  return %1#1 : tensor<4xf32>
}

// -----

// Tests that a condition that is computed is an error.

func.func @computed(%0: tensor<f32>) -> tensor<f32> {
  // expected-error @below {{stablehlo.while does not count from a constant to a constant in constant steps; its iteration count has to be known}}
  %1 = stablehlo.while(%x = %0) : tensor<f32>
  cond {
    %one = stablehlo.constant dense<1.0> : tensor<f32>
    %2 = stablehlo.compare LT, %x, %one : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %2 : tensor<i1>
  } do {
    %2 = stablehlo.add %x, %x : tensor<f32>
    stablehlo.return %2 : tensor<f32>
  }
  return %1 : tensor<f32>
}

// -----

// Tests that numbers of two types, which nothing has checked before, are an error.

func.func @two_types() -> tensor<i32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  // expected-error @below {{stablehlo.while does not count from a constant to a constant in constant steps; its iteration count has to be known}}
  %1 = stablehlo.while(%i = %zero) : tensor<i32>
  cond {
    %bound = stablehlo.constant dense<3> : tensor<i64>
    %2 = stablehlo.compare LT, %i, %bound : (tensor<i32>, tensor<i64>) -> tensor<i1>
    stablehlo.return %2 : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %2 = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %2 : tensor<i32>
  }
  return %1 : tensor<i32>
}

// -----

// Tests that a loop has to hand on all of its values.

func.func @loses_a_value(%0: tensor<4xf32>, %1: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{stablehlo.while of 2 values needs two regions that take them; the first returns one value, the second all}}
  %2:2 = "stablehlo.while"(%0, %1) ({
  ^bb0(%x: tensor<4xf32>, %y: tensor<4xf32>):
    "stablehlo.return"(%x) : (tensor<4xf32>) -> ()
  }, {
  ^bb0(%x: tensor<4xf32>, %y: tensor<4xf32>):
    "stablehlo.return"(%x) : (tensor<4xf32>) -> ()
  }) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return %2#0 : tensor<4xf32>
}
