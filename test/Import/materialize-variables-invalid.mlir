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

// expected-error @below {{variable p.w is given back as result 0; graphs that update their own state are not known, export the loss}}
func.func public @main(%arg0: tensor<4xf32> {net.name = "p.w", tf.aliasing_output = 0 : i32}) -> tensor<4xf32> {
  return %arg0 : tensor<4xf32>
}

// -----

// expected-error @below {{variable p.w is of 'tensor<?xf32>', whose dimension 0 has no size; export with static shapes}}
func.func public @main(%arg0: tensor<?xf32> {net.name = "p.w"}) {
  return
}

// -----

// expected-note @below {{the other is here}}
net.variable counter @p.w : tensor<i64>
// expected-error @below {{variable p.w is called like something else}}
func.func public @main(%arg0: tensor<4xf32> {net.name = "p.w"}) {
  return
}

// -----

// expected-error @below {{the graph is that of one of 2 replicas; export the serial one}}
module attributes {mhlo.num_replicas = 2 : i32} {
  func.func public @main(%arg0: tensor<4xf32> {net.name = "p.w"}) {
    return
  }
}

// -----

// expected-warning @below {{the graph's own sharding is left out; say it in the strategy}}
func.func public @main(%arg0: tensor<4xf32> {net.name = "p.w", sdy.sharding = #sdy.sharding<@mesh, [{"dp"}]>}) {
  return
}
