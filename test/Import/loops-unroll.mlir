// RUN: dist-opt %s --dist-import-loops=unroll | FileCheck %s --implicit-check-not=stablehlo.while

// Tests that counted loops become straight code.

// The example of the pass.
// CHECK-LABEL: func @three_iterations
// CHECK: %[[FIRST:.*]] = "stablehlo.tanh"(%arg0)
// CHECK: %[[SECOND:.*]] = "stablehlo.tanh"(%[[FIRST]])
// CHECK: %[[THIRD:.*]] = "stablehlo.tanh"(%[[SECOND]])
// CHECK-NOT: stablehlo.tanh
// CHECK: return %[[THIRD]]
func.func @three_iterations(%0: tensor<4xf32>) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %1:2 = stablehlo.while(%i = %zero, %x = %0) : tensor<i32>, tensor<4xf32>
  cond {
    %three = stablehlo.constant dense<3> : tensor<i32>
    %2 = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %2 : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %2 = stablehlo.add %i, %one : tensor<i32>
    %3 = stablehlo.tanh %x : tensor<4xf32>
    stablehlo.return %2, %3 : tensor<i32>, tensor<4xf32>
  }
  return %1#1 : tensor<4xf32>
}

// The bound may be a value of the loop that no iteration changes, and the counter may go down.
// CHECK-LABEL: func @down_to_a_carried_bound
// CHECK-COUNT-4: "stablehlo.add"(%{{.*}}) : (tensor<ui8>, tensor<ui8>) -> tensor<ui8>
// CHECK-NOT: stablehlo.add
func.func @down_to_a_carried_bound() -> tensor<ui8> {
  %c = stablehlo.constant dense<9> : tensor<ui8>
  %bound = stablehlo.constant dense<2> : tensor<ui8>
  %step = stablehlo.constant dense<254> : tensor<ui8>
  %1:3 = stablehlo.while(%i = %c, %b = %bound, %s = %step) : tensor<ui8>, tensor<ui8>, tensor<ui8>
  cond {
    %2 = stablehlo.compare GT, %i, %b : (tensor<ui8>, tensor<ui8>) -> tensor<i1>
    stablehlo.return %2 : tensor<i1>
  } do {
    %2 = stablehlo.add %s, %i : tensor<ui8>
    stablehlo.return %2, %b, %s : tensor<ui8>, tensor<ui8>, tensor<ui8>
  }
  return %1#0 : tensor<ui8>
}

// Values change places from iteration to iteration, as the two lists of threefry's distances do.
// CHECK-LABEL: func @values_change_places
// CHECK-NOT: stablehlo.tanh
// CHECK: return %arg1, %arg0
func.func @values_change_places(%a: tensor<4xf32>, %b: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %1:3 = stablehlo.while(%i = %zero, %x = %a, %y = %b) : tensor<i32>, tensor<4xf32>, tensor<4xf32>
  cond {
    %five = stablehlo.constant dense<5> : tensor<i32>
    %2 = stablehlo.compare NE, %i, %five : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %2 : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %2 = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %2, %y, %x : tensor<i32>, tensor<4xf32>, tensor<4xf32>
  }
  return %1#1, %1#2 : tensor<4xf32>, tensor<4xf32>
}

// A loop in a loop, in the generic form: 2 times 3 iterations. A loop that never runs leaves its values as they are.
// CHECK-LABEL: func @nested
// CHECK-COUNT-6: stablehlo.tanh
// CHECK-NOT: stablehlo.tanh
func.func @nested(%0: tensor<4xf32>) -> (tensor<4xf32>, tensor<i64>) {
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %two = stablehlo.constant dense<2> : tensor<i64>
  %1:2 = "stablehlo.while"(%zero, %0) ({
  ^bb0(%i: tensor<i64>, %x: tensor<4xf32>):
    %3 = "stablehlo.compare"(%i, %two) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i64>, tensor<i64>) -> tensor<i1>
    "stablehlo.return"(%3) : (tensor<i1>) -> ()
  }, {
  ^bb0(%i: tensor<i64>, %x: tensor<4xf32>):
    %3:2 = "stablehlo.while"(%zero, %x) ({
    ^bb0(%j: tensor<i64>, %y: tensor<4xf32>):
      %5 = "stablehlo.compare"(%j, %two) <{comparison_direction = #stablehlo<comparison_direction LE>}> : (tensor<i64>, tensor<i64>) -> tensor<i1>
      "stablehlo.return"(%5) : (tensor<i1>) -> ()
    }, {
    ^bb0(%j: tensor<i64>, %y: tensor<4xf32>):
      %5 = "stablehlo.add"(%j, %one) : (tensor<i64>, tensor<i64>) -> tensor<i64>
      %6 = "stablehlo.tanh"(%y) : (tensor<4xf32>) -> tensor<4xf32>
      "stablehlo.return"(%5, %6) : (tensor<i64>, tensor<4xf32>) -> ()
    }) : (tensor<i64>, tensor<4xf32>) -> (tensor<i64>, tensor<4xf32>)
    %4 = "stablehlo.add"(%i, %one) : (tensor<i64>, tensor<i64>) -> tensor<i64>
    "stablehlo.return"(%4, %3#1) : (tensor<i64>, tensor<4xf32>) -> ()
  }) : (tensor<i64>, tensor<4xf32>) -> (tensor<i64>, tensor<4xf32>)
  %2 = "stablehlo.while"(%two) ({
  ^bb0(%i: tensor<i64>):
    %3 = "stablehlo.compare"(%i, %two) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i64>, tensor<i64>) -> tensor<i1>
    "stablehlo.return"(%3) : (tensor<i1>) -> ()
  }, {
  ^bb0(%i: tensor<i64>):
    %3 = "stablehlo.add"(%i, %one) : (tensor<i64>, tensor<i64>) -> tensor<i64>
    "stablehlo.return"(%3) : (tensor<i64>) -> ()
  }) : (tensor<i64>) -> tensor<i64>
  return %1#1, %2 : tensor<4xf32>, tensor<i64>
}
