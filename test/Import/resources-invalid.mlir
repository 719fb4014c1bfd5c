// RUN: dist-opt %s --dist-import-convert-stablehlo -verify-diagnostics -split-input-file

func.func public @left_out() -> tensor<2xf32> {
  // expected-error @below {{stablehlo.constant has values __elided__ that are not in the text; print large constants in full, as as_text() of JAX's lowered function does}}
  %0 = stablehlo.constant dense_resource<__elided__> : tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

func.func public @too_few() -> tensor<2xf32> {
  // expected-error @below {{stablehlo.constant of 'tensor<2xf32>' has 4 bytes of values in dialect_resources, which is not what it takes}}
  %0 = stablehlo.constant dense_resource<large> : tensor<2xf32>
  return %0 : tensor<2xf32>
}

{-#
  dialect_resources: {
    builtin: {
      large: "0x040000000000A040"
    }
  }
#-}

// -----

// Tests that the dialects around StableHLO are told apart, with what makes StableHLO of them.

func.func public @mhlo(%x: tensor<f32>) -> tensor<f32> {
  // expected-error @below {{operation mhlo.add is of MHLO, which is older than StableHLO; `mlir-hlo-opt --hlo-legalize-to-stablehlo` converts it}}
  %0 = "mhlo.add"(%x, %x) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func public @mhlo_short(%x: tensor<f32>) -> tensor<f32> {
  // expected-error @below {{custom op 'mhlo.add' is of MHLO, which is older than StableHLO}}
  %0 = mhlo.add %x, %x : tensor<f32>
  return %0 : tensor<f32>
}

// -----

// expected-error @below {{a type is of VHLO, the serialized form of StableHLO; `stablehlo-translate --deserialize` converts it}}
func.func private @vhlo(%x: !vhlo.tensor_v1<4x!vhlo.f32_v1>)
