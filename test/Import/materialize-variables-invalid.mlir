// RUN: dist-opt %s --dist-import-materialize-variables="parameters=p.*" -verify-diagnostics -split-input-file

// expected-error @below {{glob "p.*" matches none of the graph's 1 arguments; the first is params.w}}
func.func public @main(%arg0: tensor<4xf32> {net.name = "params.w"}) {
  return
}

// -----

// expected-error @below {{glob "p.*" matches none of the graph's 0 arguments}}
func.func public @main() {
  return
}

// -----

// expected-error @below {{variable p.w is donated, but no result is known to be its next value; name it in model.carry}}
func.func public @main(%arg0: tensor<4xf32> {net.name = "p.w", tf.aliasing_output = 0 : i32}) -> (tensor<4xf32> {net.name = "0.v"}) {
  return %arg0 : tensor<4xf32>
}

// -----

// expected-warning @below {{argument x is donated, but no result is known to be its next value: it is an input of every step; name it in model.carry}}
func.func public @main(%arg0: tensor<4xf32> {net.name = "p.w"}, %arg1: tensor<4xf32> {net.name = "x", jax.buffer_donor = true}) -> (tensor<4xf32> {net.name = "0"}) {
  return %arg1 : tensor<4xf32>
}

// -----

// expected-error @below {{variable p.w is of 'tensor<?xf32>', whose dimension 0 has no size; export with static shapes}}
func.func public @main(%arg0: tensor<?xf32> {net.name = "p.w"}) {
  return
}

// -----

// expected-note @below {{the other is here}}
net.variable counter @p.w : tensor<i64>
// expected-error @below {{variable p.w has the name of another symbol}}
func.func public @main(%arg0: tensor<4xf32> {net.name = "p.w"}) {
  return
}

// -----

// expected-error @below {{the graph is the program of one of 2 replicas; export the serial graph}}
module attributes {mhlo.num_replicas = 2 : i32} {
  func.func public @main(%arg0: tensor<4xf32> {net.name = "p.w"}) {
    return
  }
}

// -----

// expected-note @below {{p.b of 'tensor<4xf32>' has result 0.b of 'tensor<4xf64>'}}
// expected-error @below {{variable p.w, with 1 more, is donated, but no result is known to be its next value; name it in model.carry}}
func.func public @main(%arg0: tensor<4xf32> {net.name = "p.w", tf.aliasing_output = 0 : i32}, %arg1: tensor<4xf32> {net.name = "p.b", jax.buffer_donor = true})
    -> (tensor<4xf32> {net.name = "0.w"}, tensor<4xf64> {net.name = "0.b"}) {
  %0 = net.convert %arg1 : tensor<4xf32> -> tensor<4xf64>
  return %arg0, %0 : tensor<4xf32>, tensor<4xf64>
}

// -----

// expected-error @below {{argument p.w is donated, and 2 trees of results fit: 0.*, 1.*; choose one in the strategy, for instance model { carry { argument: "p.*" result: "0.*" } }}}
func.func public @main(%arg0: tensor<4xf32> {net.name = "p.w", jax.buffer_donor = true}) -> (tensor<4xf32> {net.name = "0.w"}, tensor<4xf32> {net.name = "1.w"}) {
  return %arg0, %arg0 : tensor<4xf32>, tensor<4xf32>
}

// -----

// Memory that goes from the parameter to its average is not believed: the parameter is not computed from the average.
func.func public @main(
    // expected-error @below {{argument p.w is donated, and 2 trees of results fit: 0.*, 1.*; choose one in the strategy, for instance model { carry { argument: "p.*" result: "1.*" } }}}
    %p: tensor<4xf32> {net.name = "p.w", jax.buffer_donor = true},
    // expected-error @below {{argument ema\.1.w is donated, and 2 trees of results fit: 0.*, 1.*; choose one in the strategy, for instance model { carry { argument: "ema\\.1.*" result: "0.*" } }}}
    %ema: tensor<4xf32> {net.name = "ema\\.1.w", tf.aliasing_output = 1 : i32},
    %x: tensor<4xf32> {net.name = "x"}) -> (tensor<4xf32> {net.name = "0.w"}, tensor<4xf32> {net.name = "1.w"}) {
  %0 = net.subtract %p, %x : tensor<4xf32>
  %1 = net.add %ema, %0 : tensor<4xf32>
  return %1, %0 : tensor<4xf32>, tensor<4xf32>
}

// -----

// Tests that a variable that would leave in another placement than it came in is refused.

// expected-error @below {{variable p.w comes as #given.sharding<[{"dp"}]>, but its next value leaves as #given.sharding<[{}]>; a variable is kept in one placement, so give both the same}}
func.func public @main(%arg0: tensor<4xf32> {net.name = "p.w", given.sharding = #given.sharding<[{"dp"}]>, tf.aliasing_output = 0 : i32})
    -> (tensor<4xf32> {net.name = "0.w", given.sharding = #given.sharding<[{}]>}) {
  %0 = net.negate %arg0 : tensor<4xf32>
  // expected-note @below {{result 0 is its next value}}
  return %0 : tensor<4xf32>
}
