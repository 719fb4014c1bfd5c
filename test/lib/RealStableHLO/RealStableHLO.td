//===- RealStableHLO.td - a registered dialect of StableHLO's name --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A few operations as StableHLO's own dialect has them: registered, with properties and attributes in C++ classes of
// their own, which print as they do there. It stands for that dialect in a caller's context.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TEST_LIB_REALSTABLEHLO_REALSTABLEHLO_TD
#define MESHWRIGHT_TEST_LIB_REALSTABLEHLO_REALSTABLEHLO_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Real_Dialect : Dialect {
  let name = "stablehlo";
  let cppNamespace = "::real";
  let summary = "Stands for StableHLO's own dialect.";
  let useDefaultAttributePrinterParser = 1;
}

class Real_Attr<string name, string mnem> : AttrDef<Real_Dialect, name> {
  let mnemonic = mnem;
}


def Real_DotAttr : Real_Attr<"Dot", "dot"> {
  let parameters = (ins OptionalArrayRefParameter<"int64_t">:$lhs_batching_dimensions, OptionalArrayRefParameter<"int64_t">:$rhs_batching_dimensions,
                        OptionalArrayRefParameter<"int64_t">:$lhs_contracting_dimensions, OptionalArrayRefParameter<"int64_t">:$rhs_contracting_dimensions);
  let assemblyFormat = [{`<` struct(custom<Dims>($lhs_batching_dimensions), custom<Dims>($rhs_batching_dimensions),
      custom<Dims>($lhs_contracting_dimensions), custom<Dims>($rhs_contracting_dimensions)) `>`}];
}

def Real_GatherAttr : Real_Attr<"Gather", "gather"> {
  let parameters = (ins OptionalArrayRefParameter<"int64_t">:$offset_dims, OptionalArrayRefParameter<"int64_t">:$collapsed_slice_dims, OptionalArrayRefParameter<"int64_t">:$operand_batching_dims,
                        OptionalArrayRefParameter<"int64_t">:$start_indices_batching_dims, OptionalArrayRefParameter<"int64_t">:$start_index_map, "int64_t":$index_vector_dim);
  let assemblyFormat = [{`<` struct(custom<Dims>($offset_dims), custom<Dims>($collapsed_slice_dims), custom<Dims>($operand_batching_dims),
      custom<Dims>($start_indices_batching_dims), custom<Dims>($start_index_map), $index_vector_dim) `>`}];
}

def Real_Direction : I32Enum<"Direction", "", [I32EnumCase<"EQ", 0>, I32EnumCase<"NE", 1>, I32EnumCase<"GE", 2>,
                                               I32EnumCase<"GT", 3>, I32EnumCase<"LE", 4>, I32EnumCase<"LT", 5>]> {
  let cppNamespace = "::real";
}
def Real_Comparison : I32Enum<"Comparison", "", [I32EnumCase<"NOTYPE", 0>, I32EnumCase<"FLOAT", 1>, I32EnumCase<"TOTALORDER", 2>,
                                                 I32EnumCase<"SIGNED", 3>, I32EnumCase<"UNSIGNED", 4>]> {
  let cppNamespace = "::real";
}
def Real_Precision : I32Enum<"Precision", "", [I32EnumCase<"DEFAULT", 0>, I32EnumCase<"HIGH", 1>, I32EnumCase<"HIGHEST", 2>]> {
  let cppNamespace = "::real";
}
def Real_DirectionAttr : EnumAttr<Real_Dialect, Real_Direction, "comparison_direction">;
def Real_ComparisonAttr : EnumAttr<Real_Dialect, Real_Comparison, "comparison_type">;
def Real_PrecisionAttr : EnumAttr<Real_Dialect, Real_Precision, "precision">;

class Real_Op<string mnem, list<Trait> traits = []> : Op<Real_Dialect, mnem, traits>;
class Real_Unary<string mnem> : Real_Op<mnem, [Pure, SameOperandsAndResultType]> {
  let arguments = (ins AnyRankedTensor:$operand);
  let results = (outs AnyRankedTensor:$result);
}
class Real_Binary<string mnem> : Real_Op<mnem, [Pure, SameOperandsAndResultType]> {
  let arguments = (ins AnyRankedTensor:$lhs, AnyRankedTensor:$rhs);
  let results = (outs AnyRankedTensor:$result);
}

def Real_ExponentialOp : Real_Unary<"exponential">;
def Real_LogOp : Real_Unary<"log">;
def Real_NegateOp : Real_Unary<"negate">;
def Real_AddOp : Real_Binary<"add">;
def Real_AndOp : Real_Binary<"and">;
def Real_DivideOp : Real_Binary<"divide">;
def Real_MaximumOp : Real_Binary<"maximum">;
def Real_SubtractOp : Real_Binary<"subtract">;

def Real_ConstantOp : Real_Op<"constant", [Pure]> {
  let arguments = (ins ElementsAttr:$value);
  let results = (outs AnyRankedTensor:$result);
}
def Real_BroadcastInDimOp : Real_Op<"broadcast_in_dim", [Pure]> {
  let arguments = (ins AnyRankedTensor:$operand, DenseI64ArrayAttr:$broadcast_dimensions);
  let results = (outs AnyRankedTensor:$result);
}
def Real_ReshapeOp : Real_Op<"reshape", [Pure]> {
  let arguments = (ins AnyRankedTensor:$operand);
  let results = (outs AnyRankedTensor:$result);
}
def Real_CompareOp : Real_Op<"compare", [Pure]> {
  let arguments = (ins AnyRankedTensor:$lhs, AnyRankedTensor:$rhs, Real_DirectionAttr:$comparison_direction,
                       OptionalAttr<Real_ComparisonAttr>:$compare_type);
  let results = (outs AnyRankedTensor:$result);
}
def Real_SelectOp : Real_Op<"select", [Pure]> {
  let arguments = (ins AnyRankedTensor:$predicate, AnyRankedTensor:$on_true, AnyRankedTensor:$on_false);
  let results = (outs AnyRankedTensor:$result);
}
def Real_DotGeneralOp : Real_Op<"dot_general", [Pure]> {
  let arguments = (ins AnyRankedTensor:$lhs, AnyRankedTensor:$rhs, Real_DotAttr:$dot_dimension_numbers,
                       OptionalAttr<TypedArrayAttrBase<Real_PrecisionAttr, "">>:$precision_config);
  let results = (outs AnyRankedTensor:$result);
}
def Real_GatherOp : Real_Op<"gather", [Pure]> {
  let arguments = (ins AnyRankedTensor:$operand, AnyRankedTensor:$start_indices, Real_GatherAttr:$dimension_numbers,
                       DenseI64ArrayAttr:$slice_sizes, DefaultValuedOptionalAttr<BoolAttr, "false">:$indices_are_sorted);
  let results = (outs AnyRankedTensor:$result);
}
def Real_ReduceOp : Real_Op<"reduce"> {
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs, DenseI64ArrayAttr:$dimensions);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
}
def Real_ReturnOp : Real_Op<"return", [Pure, Terminator]> {
  let arguments = (ins Variadic<AnyRankedTensor>:$results);
}

#endif
