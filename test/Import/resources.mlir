// RUN: dist-opt %s --dist-import-convert-stablehlo | FileCheck %s

// Tests that constants are read in whatever way their values are written: as numbers, as bytes, and as bytes that stand at the
// end of the text.

// CHECK-LABEL: func.func public @values
func.func public @values() -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<4xi1>) {
  // CHECK-NEXT: net.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
  %0 = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  // CHECK-NEXT: net.constant dense<[3.000000e+00, 4.000000e+00]> : tensor<2xf32>
  %1 = stablehlo.constant dense<"0x0000404000008040"> : tensor<2xf32>
  // CHECK-NEXT: net.constant dense<[5.000000e+00, 6.000000e+00]> : tensor<2xf32>
  %2 = stablehlo.constant dense_resource<large> : tensor<2xf32>
  // CHECK-NEXT: net.constant dense<[true, false, true, true]> : tensor<4xi1>
  %3 = stablehlo.constant dense<[true, false, true, true]> : tensor<4xi1>
  return %0, %1, %2, %3 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<4xi1>
}

{-#
  dialect_resources: {
    builtin: {
      large: "0x040000000000A0400000C040"
    }
  }
#-}
