// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Modules as they may be in another compiler, and not what passes are made for.

module {}

// -----

func.func private @declaration(tensor<4xf32>) -> tensor<4xf32>

// -----

dist.mesh @mesh <["x" = 2]>
func.func private @declaration(tensor<4xf32>) -> tensor<4xf32>

// -----

func.func @blocks(%x: tensor<4xf32>, %c: i1) -> tensor<4xf32> {
  "foreign.branch"(%c) [^one, ^two] : (i1) -> ()
^one:
  "foreign.jump"(%x) [^end] : (tensor<4xf32>) -> ()
^two:
  %0 = net.add %x, %x : tensor<4xf32>
  "foreign.jump"(%0) [^end] : (tensor<4xf32>) -> ()
^end(%y: tensor<4xf32>):
  return %y : tensor<4xf32>
}

// -----

dist.mesh @mesh <["x" = 2]>
func.func @blocks(%x: tensor<4xf32>, %c: i1) -> tensor<4xf32> {
  "foreign.branch"(%c) [^one, ^two] : (i1) -> ()
^one:
  "foreign.jump"(%x) [^end] : (tensor<4xf32>) -> ()
^two:
  %0 = net.add %x, %x : tensor<4xf32>
  "foreign.jump"(%0) [^end] : (tensor<4xf32>) -> ()
^end(%y: tensor<4xf32>):
  return %y : tensor<4xf32>
}

// -----

func.func @types(%i: index, %m: memref<4xf32>, %d: tensor<?xf32>, %u: tensor<*xf32>, %v: vector<4xf32>) -> (index, tensor<?xf32>) {
  %0 = "foreign.increment"(%i) : (index) -> index
  return %0, %d : index, tensor<?xf32>
}

// -----

dist.mesh @mesh <["x" = 2]>
func.func @types(%i: index, %m: memref<4xf32>, %d: tensor<?xf32>, %u: tensor<*xf32>, %v: vector<4xf32>) -> (index, tensor<?xf32>) {
  %0 = "foreign.increment"(%i) : (index) -> index
  return %0, %d : index, tensor<?xf32>
}

// -----

dist.mesh @mesh <["x" = 2]>
func.func @elements(%x: tensor<4xcomplex<f32>>, %y: tensor<4xindex>) -> tensor<4xindex> {
  %0 = "foreign.region"(%x, %y) ({
  ^body(%z: f32):
    "foreign.yield"(%z) : (f32) -> ()
  }) : (tensor<4xcomplex<f32>>, tensor<4xindex>) -> tensor<4xindex>
  return %0 : tensor<4xindex>
}

// -----

dist.mesh @mesh <["x" = 2]>
net.variable parameter @w : tensor<4xcomplex<f32>>
func.func @variable(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = net.add %x, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

dist.mesh @mesh <["x" = 2]>
net.variable parameter @w : tensor<4xf32>
func.func @operations(%x: tensor<4xf32>) -> tensor<4xf32> {
  %w = net.read @w : tensor<4xf32>
  %0 = "foreign.tensor"(%w) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "foreign.scalar"() : () -> f32
  %2 = "foreign.memory"(%1) : (f32) -> memref<4xf32>
  %3 = net.add %0, %x : tensor<4xf32>
  net.assign @w, %3 : tensor<4xf32>
  return %3 : tensor<4xf32>
}

// -----

dist.mesh @mesh <["x" = 2]>
func.func @no_return(%x: tensor<4xf32>) {
  "foreign.end"() : () -> ()
}

// -----

net.variable parameter @w : tensor<4xf32>
func.func @calls_itself(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = net.add %x, %x : tensor<4xf32>
  call @calls_itself(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

dist.mesh @mesh <["x" = 2]>
func.func @first(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func @second() {
  return
}
module @inner {
  func.func @third(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = net.add %x, %x : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
