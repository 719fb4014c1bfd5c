// RUN: dist-opt %s -split-input-file --dist-train-simplify | FileCheck %s

// Tests the folds of arithmetic.

// CHECK-LABEL: func.func @arithmetic
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>, %[[Y:.*]]: tensor<4xf32>)
func.func @arithmetic(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %scalar = net.constant dense<1.0> : tensor<f32>
  %one = net.broadcast %scalar dims = [] : tensor<f32> -> tensor<4xf32>
  %zero = net.constant dense<0.0> : tensor<4xf32>
  %inf = net.constant dense<0xFF800000> : tensor<4xf32>
  %0 = net.multiply %one, %x : tensor<4xf32>
  %1 = net.add %0, %zero : tensor<4xf32>
  %2 = net.divide %1, %one : tensor<4xf32>
  %3 = net.maximum %inf, %2 : tensor<4xf32>
  // CHECK-NEXT: %[[S:.*]] = net.subtract %[[X]], %[[Y]]
  %4 = net.negate %y : tensor<4xf32>
  %5 = net.add %3, %4 : tensor<4xf32>
  // CHECK-NEXT: %[[A:.*]] = net.add %[[X]], %[[Y]]
  %6 = net.subtract %3, %4 : tensor<4xf32>
  // CHECK-NEXT: return %[[X]], %[[S]], %[[A]]
  return %3, %5, %6 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// Tests that layouts compose and disappear, and that those of splats stay splats.

// CHECK-LABEL: func.func @layout
// CHECK-SAME: %[[X:.*]]: tensor<2x3xf32>
func.func @layout(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<3x2xf32>, tensor<5x2x3xf32>, tensor<2x300x100xf64>) {
  // CHECK-NEXT: %[[T:.*]] = net.reshape %[[X]] : tensor<2x3xf32> -> tensor<3x2xf32>
  // CHECK-NEXT: %[[B:.*]] = net.broadcast %[[X]] dims = [1, 2] : tensor<2x3xf32> -> tensor<5x2x3xf32>
  // CHECK-NEXT: %[[C:.*]] = net.constant dense<7.000000e+00> : tensor<2x300x100xf64>
  // CHECK-NEXT: return %[[X]], %[[T]], %[[B]], %[[C]]
  %0 = net.transpose %x dims = [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
  %1 = net.transpose %0 dims = [1, 0] : tensor<3x2xf32> -> tensor<2x3xf32>
  %2 = net.reshape %1 : tensor<2x3xf32> -> tensor<6x1xf32>
  %3 = net.reduce max %2 dims = [1] : tensor<6x1xf32> -> tensor<6xf32>
  %4 = net.reshape %3 : tensor<6xf32> -> tensor<3x2xf32>
  %5 = net.broadcast %1 dims = [0, 1] : tensor<2x3xf32> -> tensor<2x3xf32>
  %6 = net.broadcast %5 dims = [1, 2] : tensor<2x3xf32> -> tensor<5x2x3xf32>
  %c = net.constant dense<7.0> : tensor<f32>
  %7 = net.convert %c : tensor<f32> -> tensor<f64>
  %8 = net.broadcast %7 dims = [] : tensor<f64> -> tensor<100x300xf64>
  %9 = net.transpose %8 dims = [1, 0] : tensor<100x300xf64> -> tensor<300x100xf64>
  %10 = net.broadcast %9 dims = [1, 2] : tensor<300x100xf64> -> tensor<2x300x100xf64>
  return %1, %4, %6, %10 : tensor<2x3xf32>, tensor<3x2xf32>, tensor<5x2x3xf32>, tensor<2x300x100xf64>
}

// -----

// Tests that elements are transposed before they are padded, unless the padded tensor is read elsewhere.
// CHECK-LABEL: func.func @transposed_pad
func.func @transposed_pad(%x: tensor<2x1x3xf32>, %v: tensor<f32>) -> (tensor<8x2x7xf32>, tensor<2x8x7xf32>, tensor<8x2x7xf32>) {
  // CHECK: %[[T:.*]] = net.transpose %arg0 dims = [1, 0, 2] : tensor<2x1x3xf32> -> tensor<1x2x3xf32>
  // CHECK-NEXT: %[[P:.*]] = net.pad %[[T]], %arg1 low = [5, 0, 1] high = [2, 0, 1] interior = [0, 0, 1] : tensor<1x2x3xf32>, tensor<f32> -> tensor<8x2x7xf32>
  %0 = net.pad %x, %v low = [0, 5, 1] high = [0, 2, 1] interior = [0, 0, 1] : tensor<2x1x3xf32>, tensor<f32> -> tensor<2x8x7xf32>
  %1 = net.transpose %0 dims = [1, 0, 2] : tensor<2x8x7xf32> -> tensor<8x2x7xf32>
  // CHECK-NEXT: %[[Q:.*]] = net.pad %arg0, %arg1 low = [0, 6, 1]
  %2 = net.pad %x, %v low = [0, 6, 1] high = [0, 1, 1] interior = [0, 0, 1] : tensor<2x1x3xf32>, tensor<f32> -> tensor<2x8x7xf32>
  // CHECK-NEXT: %[[U:.*]] = net.transpose %[[Q]]
  %3 = net.transpose %2 dims = [1, 0, 2] : tensor<2x8x7xf32> -> tensor<8x2x7xf32>
  // CHECK-NEXT: return %[[P]], %[[Q]], %[[U]]
  return %1, %2, %3 : tensor<8x2x7xf32>, tensor<2x8x7xf32>, tensor<8x2x7xf32>
}

// -----

// Tests that a transposed product is that of the exchanged factors where the left one has the innermost dimension, and
// that the rest of the transposition stays, as does a product with another use.

// CHECK-LABEL: func.func @exchanged_factors
// CHECK-SAME: (%[[V:.*]]: tensor<2x16x4x8xf32>, %[[P:.*]]: tensor<2x4x1x5x16xf32>)
func.func @exchanged_factors(%v: tensor<2x16x4x8xf32>, %p: tensor<2x4x1x5x16xf32>)
    -> (tensor<2x5x4x1x8xf32>, tensor<2x8x4x1x5xf32>, tensor<2x4x8x1x5xf32>) {
  // CHECK-NEXT: %[[O:.*]] = net.dot %[[P]], %[[V]] batch = [0, 1] x [0, 2] contract = [4] x [1] : tensor<2x4x1x5x16xf32>, tensor<2x16x4x8xf32> -> tensor<2x4x1x5x8xf32>
  // CHECK-NEXT: %[[T:.*]] = net.transpose %[[O]] dims = [0, 3, 1, 2, 4]
  %0 = net.dot %v, %p batch = [0, 2] x [0, 1] contract = [1] x [4] : tensor<2x16x4x8xf32>, tensor<2x4x1x5x16xf32> -> tensor<2x4x8x1x5xf32>
  %1 = net.transpose %0 dims = [0, 4, 1, 3, 2] : tensor<2x4x8x1x5xf32> -> tensor<2x5x4x1x8xf32>
  // CHECK-NEXT: %[[E:.*]] = net.exponential %[[P]]
  // CHECK-NEXT: %[[D:.*]] = net.dot %[[V]], %[[E]]
  // CHECK-NEXT: %[[U:.*]] = net.transpose %[[D]] dims = [0, 2, 1, 3, 4]
  %3 = net.exponential %p : tensor<2x4x1x5x16xf32>
  %4 = net.dot %v, %3 batch = [0, 2] x [0, 1] contract = [1] x [4] : tensor<2x16x4x8xf32>, tensor<2x4x1x5x16xf32> -> tensor<2x4x8x1x5xf32>
  %5 = net.transpose %4 dims = [0, 2, 1, 3, 4] : tensor<2x4x8x1x5xf32> -> tensor<2x8x4x1x5xf32>
  // CHECK-NEXT: return %[[T]], %[[U]], %[[D]]
  return %1, %5, %4 : tensor<2x5x4x1x8xf32>, tensor<2x8x4x1x5xf32>, tensor<2x4x8x1x5xf32>
}

// -----

// Tests that a conversion to a type that holds every value, and back, folds, and that others do not.

// CHECK-LABEL: func.func @conversions_back
// CHECK-SAME: (%[[B:.*]]: tensor<3xbf16>, %[[I:.*]]: tensor<3xi8>, %[[P:.*]]: tensor<3xi1>, %[[U:.*]]: tensor<3xui16>, %[[E:.*]]: tensor<3xf8E5M2>, %[[F:.*]]: tensor<3xf4E2M1FN>)
func.func @conversions_back(%b: tensor<3xbf16>, %i: tensor<3xi8>, %p: tensor<3xi1>, %u: tensor<3xui16>, %e: tensor<3xf8E5M2>, %f: tensor<3xf4E2M1FN>)
    -> (tensor<3xbf16>, tensor<3xbf16>, tensor<3xi8>, tensor<3xi1>, tensor<3xui16>, tensor<3xf8E5M2>, tensor<3xf8E5M2>, tensor<3xf4E2M1FN>, tensor<3xbf16>) {
  %0 = net.convert %b : tensor<3xbf16> -> tensor<3xf32>
  %1 = net.convert %0 : tensor<3xf32> -> tensor<3xbf16>
  // The exponents of f16 are too few.
  // CHECK: %[[HALF:.*]] = net.convert %[[B]] : tensor<3xbf16> -> tensor<3xf16>
  // CHECK-NEXT: %[[BACK:.*]] = net.convert %[[HALF]]
  %2 = net.convert %b : tensor<3xbf16> -> tensor<3xf16>
  %3 = net.convert %2 : tensor<3xf16> -> tensor<3xbf16>
  %4 = net.convert %i : tensor<3xi8> -> tensor<3xbf16>
  %5 = net.convert %4 : tensor<3xbf16> -> tensor<3xi8>
  %6 = net.convert %p : tensor<3xi1> -> tensor<3xf32>
  %7 = net.convert %6 : tensor<3xf32> -> tensor<3xi1>
  // 16 bits of an integer are too many for bf16.
  // CHECK-NEXT: %[[ROUNDED:.*]] = net.convert %[[U]] : tensor<3xui16> -> tensor<3xbf16>
  // CHECK-NEXT: %[[WHOLE:.*]] = net.convert %[[ROUNDED]]
  %8 = net.convert %u : tensor<3xui16> -> tensor<3xbf16>
  %9 = net.convert %8 : tensor<3xbf16> -> tensor<3xui16>
  %10 = net.convert %e : tensor<3xf8E5M2> -> tensor<3xf16>
  %11 = net.convert %10 : tensor<3xf16> -> tensor<3xf8E5M2>
  // There is no infinity.
  // CHECK-NEXT: %[[FINITE:.*]] = net.convert %[[E]] : tensor<3xf8E5M2> -> tensor<3xf8E5M2FNUZ>
  // CHECK-NEXT: %[[LOST:.*]] = net.convert %[[FINITE]]
  %12 = net.convert %e : tensor<3xf8E5M2> -> tensor<3xf8E5M2FNUZ>
  %13 = net.convert %12 : tensor<3xf8E5M2FNUZ> -> tensor<3xf8E5M2>
  // There is no negative zero.
  // CHECK-NEXT: %[[UNSIGNED:.*]] = net.convert %[[F]] : tensor<3xf4E2M1FN> -> tensor<3xf8E4M3FNUZ>
  // CHECK-NEXT: %[[POSITIVE:.*]] = net.convert %[[UNSIGNED]]
  %14 = net.convert %f : tensor<3xf4E2M1FN> -> tensor<3xf8E4M3FNUZ>
  %15 = net.convert %14 : tensor<3xf8E4M3FNUZ> -> tensor<3xf4E2M1FN>
  // Sums travel in f32.
  // CHECK-NEXT: %[[WIDE:.*]] = net.convert %[[B]] {dist.defer_reduction}
  // CHECK-NEXT: %[[NARROW:.*]] = net.convert %[[WIDE]]
  %16 = net.convert %b {dist.defer_reduction} : tensor<3xbf16> -> tensor<3xf32>
  %17 = net.convert %16 : tensor<3xf32> -> tensor<3xbf16>
  // CHECK-NEXT: return %[[B]], %[[BACK]], %[[I]], %[[P]], %[[WHOLE]], %[[E]], %[[LOST]], %[[POSITIVE]], %[[NARROW]]
  return %1, %3, %5, %7, %9, %11, %13, %15, %17 : tensor<3xbf16>, tensor<3xbf16>, tensor<3xi8>, tensor<3xi1>, tensor<3xui16>, tensor<3xf8E5M2>, tensor<3xf8E5M2>, tensor<3xf4E2M1FN>, tensor<3xbf16>
}

// -----

// Tests that one element of a constant is a splat, and that arithmetic on it folds: distances of threefry's rotations.

// CHECK-LABEL: func.func @elements_of_constants
// CHECK-DAG: %[[LEFT:.*]] = net.constant dense<15> : tensor<4xui32>
// CHECK-DAG: %[[RIGHT:.*]] = net.constant dense<17> : tensor<4xui32>
// CHECK-DAG: %[[SHIFTED:.*]] = net.constant dense<0> : tensor<ui32>
// CHECK-DAG: %[[DOUBLED:.*]] = net.constant dense<30> : tensor<ui32>
// CHECK-NEXT: return %[[LEFT]], %[[RIGHT]], %[[SHIFTED]], %[[DOUBLED]]
func.func @elements_of_constants() -> (tensor<4xui32>, tensor<4xui32>, tensor<ui32>, tensor<ui32>) {
  %0 = net.constant dense<[[13, 26], [15, 6]]> : tensor<2x2xui32>
  %1 = net.slice %0 starts = [1, 0] limits = [2, 1] steps = [1, 1] : tensor<2x2xui32> -> tensor<1x1xui32>
  %2 = net.reshape %1 : tensor<1x1xui32> -> tensor<ui32>
  %3 = net.broadcast %2 dims = [] : tensor<ui32> -> tensor<4xui32>
  %4 = net.constant dense<32> : tensor<ui32>
  %5 = net.subtract %4, %2 : tensor<ui32>
  %6 = net.broadcast %5 dims = [] : tensor<ui32> -> tensor<4xui32>
  %7 = net.shift_right_logical %2, %4 : tensor<ui32>
  %8 = net.constant dense<1> : tensor<ui32>
  %9 = net.shift_left %2, %8 : tensor<ui32>
  return %3, %6, %7, %9 : tensor<4xui32>, tensor<4xui32>, tensor<ui32>, tensor<ui32>
}

// -----

// Tests that a slice of what was joined reads the part that it lies in, and that one of two parts stays.

// CHECK-LABEL: func.func @slices_of_parts
// CHECK-SAME: (%[[X:.*]]: tensor<2x3xf32>, %[[Y:.*]]: tensor<2x4xf32>)
func.func @slices_of_parts(%x: tensor<2x3xf32>, %y: tensor<2x4xf32>) -> (tensor<2x3xf32>, tensor<2x2xf32>, tensor<2x2xf32>) {
  // CHECK-NEXT: %[[JOINED:.*]] = net.concatenate
  // CHECK-NEXT: %[[SECOND:.*]] = net.slice %[[Y]] starts = [0, 1] limits = [2, 4] steps = [1, 2]
  // CHECK-NEXT: %[[BOTH:.*]] = net.slice %[[JOINED]]
  // CHECK-NEXT: return %[[X]], %[[SECOND]], %[[BOTH]]
  %0 = net.concatenate %x, %y dim = 1 : tensor<2x3xf32>, tensor<2x4xf32> -> tensor<2x7xf32>
  %1 = net.slice %0 starts = [0, 0] limits = [2, 3] steps = [1, 1] : tensor<2x7xf32> -> tensor<2x3xf32>
  %2 = net.slice %0 starts = [0, 4] limits = [2, 7] steps = [1, 2] : tensor<2x7xf32> -> tensor<2x2xf32>
  %3 = net.slice %0 starts = [0, 2] limits = [2, 4] steps = [1, 1] : tensor<2x7xf32> -> tensor<2x2xf32>
  return %1, %2, %3 : tensor<2x3xf32>, tensor<2x2xf32>, tensor<2x2xf32>
}

// -----

// Tests that products read factors as they lie and write results in the order that is asked for.

// CHECK-LABEL: func.func @products
// CHECK-SAME: (%[[X:.*]]: tensor<8x4xf32>, %[[W:.*]]: tensor<6x4xf32>)
func.func @products(%x: tensor<8x4xf32>, %w: tensor<6x4xf32>) -> (tensor<8x6xf32>, tensor<6x8xf32>) {
  // CHECK-NEXT: %[[Y:.*]] = net.dot %[[X]], %[[W]] batch = [] x [] contract = [1] x [1]
  // CHECK-NEXT: %[[V:.*]] = net.sine %[[W]]
  // CHECK-NEXT: %[[Z:.*]] = net.dot %[[V]], %[[X]] batch = [] x [] contract = [1] x [1]
  // CHECK-NEXT: return %[[Y]], %[[Z]]
  %t = net.transpose %w dims = [1, 0] : tensor<6x4xf32> -> tensor<4x6xf32>
  %y = net.dot %x, %t batch = [] x [] contract = [1] x [0] : tensor<8x4xf32>, tensor<4x6xf32> -> tensor<8x6xf32>
  %v = net.sine %w : tensor<6x4xf32>
  %n = net.dot %x, %v batch = [] x [] contract = [1] x [1] : tensor<8x4xf32>, tensor<6x4xf32> -> tensor<8x6xf32>
  %z = net.transpose %n dims = [1, 0] : tensor<8x6xf32> -> tensor<6x8xf32>
  return %y, %z : tensor<8x6xf32>, tensor<6x8xf32>
}

// -----

// Tests that roles and scopes do not keep equal operations apart, that names do, and that unused operations are dropped.

net.variable parameter @unused : tensor<4xf32>

// CHECK-LABEL: func.func @merge
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>
func.func @merge(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  // CHECK-NEXT: %[[A:.*]] = net.sine %[[X]] {net.name = "a", net.scope = "f"}
  // CHECK-NEXT: %[[C:.*]] = net.sine %[[X]] {net.name = "c"}
  // CHECK-NEXT: return %[[A]], %[[A]], %[[C]]
  %u = net.read @unused : tensor<4xf32>
  %d = net.exponential %u : tensor<4xf32>
  %a = net.sine %x {net.scope = "f"} : tensor<4xf32>
  %b = net.sine %x {net.role = #net.role<backward>, net.name = "a"} : tensor<4xf32>
  %c = net.sine %x {net.name = "c"} : tensor<4xf32>
  return %a, %b, %c : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// Tests that a gather of the one box there is only drops dimensions.

// CHECK-LABEL: func.func @only_box
// CHECK-SAME: %[[X:.*]]: tensor<8x15x1xf32>
func.func @only_box(%x: tensor<8x15x1xf32>, %i: tensor<1xi32>) -> tensor<8x15xf32> {
  // CHECK-NEXT: %[[R:.*]] = net.reshape %[[X]]
  // CHECK-NEXT: return %[[R]]
  %0 = net.gather %x, %i <offsetDims = [0, 1], collapsedDims = [2], startIndexMap = [2], indexVectorDim = 0> sizes = [8, 15, 1] : tensor<8x15x1xf32>, tensor<1xi32> -> tensor<8x15xf32>
  return %0 : tensor<8x15xf32>
}

// -----

// Tests that masks which are known disappear.

// CHECK-LABEL: func.func @known_masks
// CHECK-SAME: (%[[M:.*]]: tensor<4xi1>, %[[X:.*]]: tensor<4xf32>)
func.func @known_masks(%m: tensor<4xi1>, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xi32>, tensor<f64>, tensor<2xui8>) {
  // CHECK-NEXT: %[[NAN:.*]] = net.constant dense<0x7FC00000>
  // CHECK-NEXT: %[[S:.*]] = net.select %[[M]], %[[X]], %[[NAN]]
  // CHECK-NEXT: %[[I:.*]] = net.constant dense<-2> : tensor<4xi32>
  // CHECK-NEXT: %[[Q:.*]] = net.constant dense<0.33333333333333331> : tensor<f64>
  // CHECK-NEXT: %[[U:.*]] = net.constant dense<44> : tensor<2xui8>
  // CHECK-NEXT: return %[[S]], %[[I]], %[[Q]], %[[U]]
  %one = net.constant dense<1.0> : tensor<4xf32>
  %attended = net.convert %one : tensor<4xf32> -> tensor<4xi32>
  %zero = net.constant dense<0> : tensor<4xi32>
  %0 = net.compare ne, %attended, %zero : tensor<4xi32> -> tensor<4xi1>
  %1 = net.convert %m : tensor<4xi1> -> tensor<4xi32>
  %2 = net.compare ne, %1, %zero : tensor<4xi32> -> tensor<4xi1>
  %3 = net.and %0, %2 : tensor<4xi1>
  %4 = net.reduce and %0 dims = [0] : tensor<4xi1> -> tensor<i1>
  %5 = net.broadcast %4 dims = [] : tensor<i1> -> tensor<4xi1>
  %6 = net.and %3, %5 : tensor<4xi1>
  %nan = net.constant dense<0x7FC00000> : tensor<4xf32>
  %7 = net.select %6, %x, %nan : tensor<4xi1>, tensor<4xf32>
  %minus = net.constant dense<-2.75> : tensor<4xf32>
  %8 = net.convert %minus : tensor<4xf32> -> tensor<4xi32>
  %three = net.constant dense<3> : tensor<i32>
  %9 = net.convert %three : tensor<i32> -> tensor<f64>
  %10 = net.constant dense<1.0> : tensor<f64>
  %11 = net.divide %10, %9 : tensor<f64>
  %150 = net.constant dense<150> : tensor<2xui8>
  %12 = net.add %150, %150 : tensor<2xui8>
  return %7, %8, %11, %12 : tensor<4xf32>, tensor<4xi32>, tensor<f64>, tensor<2xui8>
}

// -----

// Tests that what cannot be known is left alone.

// CHECK-LABEL: func.func @unknown
func.func @unknown(%x: tensor<4xf32>) -> (tensor<4xi32>, tensor<4xi1>) {
  // CHECK: net.convert
  // CHECK: net.compare lt
  %nan = net.constant dense<0x7FC00000> : tensor<4xf32>
  %0 = net.convert %nan : tensor<4xf32> -> tensor<4xi32>
  %1 = net.compare lt, %x, %nan : tensor<4xf32> -> tensor<4xi1>
  return %0, %1 : tensor<4xi32>, tensor<4xi1>
}

// -----

// Tests that an iteration that takes an element of a padded one selects it, so that no stack is needed, whichever way
// the loop runs and whatever pads.
// CHECK-LABEL: @take_of_padded
func.func @take_of_padded(%x: tensor<1x4xf32>, %p: tensor<f32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-DAG: %[[NUMBERS:.*]] = net.iota dim = 0 : tensor<3xi32>
  // CHECK-DAG: %[[TWO:.*]] = net.constant dense<2> : tensor<3xi32>
  // CHECK-DAG: %[[IS:.*]] = net.compare eq, %[[NUMBERS]], %[[TWO]]
  // CHECK-DAG: %[[X:.*]] = net.reshape %arg0
  // CHECK: %[[I:.*]] = net.loop count = 3 reverse
  %s = net.pad %x, %p low = [2, 0] high = [0, 0] interior = [0, 0] : tensor<1x4xf32>, tensor<f32> -> tensor<3x4xf32>
  %i = net.loop count = 3 reverse
  %c = net.carry %y in %i : tensor<4xf32>
  // CHECK-NOT: net.pad
  // CHECK: %[[HERE:.*]] = net.take %[[IS]] in %[[I]] : tensor<3xi1> -> tensor<i1>
  // CHECK: %[[WIDE:.*]] = net.broadcast %[[HERE]]
  // CHECK: %[[PAD:.*]] = net.broadcast %arg1
  // CHECK: net.select %[[WIDE]], %[[X]], %[[PAD]]
  %t = net.take %s in %i : tensor<3x4xf32> -> tensor<4xf32>
  %a = net.add %c, %t : tensor<4xf32>
  %r = net.next %a for %c : tensor<4xf32>
  net.end_loop %i
  return %r : tensor<4xf32>
}

// -----

// Tests that a stack stays that pads two elements, pads them within, or is read whole.
// CHECK-LABEL: @take_of_stacks
func.func @take_of_stacks(%x: tensor<2x4xf32>, %u: tensor<1x4xf32>, %p: tensor<f32>, %y: tensor<4xf32>, %z: tensor<6xf32>) -> (tensor<4xf32>, tensor<6xf32>, tensor<3x4xf32>) {
  %s = net.pad %x, %p low = [1, 0] high = [0, 0] interior = [0, 0] : tensor<2x4xf32>, tensor<f32> -> tensor<3x4xf32>
  %w = net.pad %u, %p low = [1, 1] high = [1, 1] interior = [0, 0] : tensor<1x4xf32>, tensor<f32> -> tensor<3x6xf32>
  %v = net.pad %u, %p low = [1, 0] high = [1, 0] interior = [0, 0] : tensor<1x4xf32>, tensor<f32> -> tensor<3x4xf32>
  // CHECK-COUNT-3: net.pad
  %i = net.loop count = 3
  %c = net.carry %y in %i : tensor<4xf32>
  %d = net.carry %z in %i : tensor<6xf32>
  // CHECK-NOT: net.select
  %t = net.take %s in %i : tensor<3x4xf32> -> tensor<4xf32>
  %k = net.take %w in %i : tensor<3x6xf32> -> tensor<6xf32>
  %l = net.take %v in %i : tensor<3x4xf32> -> tensor<4xf32>
  %a = net.add %c, %t : tensor<4xf32>
  %b = net.add %a, %l : tensor<4xf32>
  %e = net.add %d, %k : tensor<6xf32>
  %r = net.next %b for %c : tensor<4xf32>
  %q = net.next %e for %d : tensor<6xf32>
  net.end_loop %i
  return %r, %q, %v : tensor<4xf32>, tensor<6xf32>, tensor<3x4xf32>
}
