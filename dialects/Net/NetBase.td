//===- NetBase.td - the net dialect, its enumerations and attributes ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECTS_NET_NETBASE_TD
#define MESHWRIGHT_DIALECTS_NET_NETBASE_TD

include "dialects/Common/Common.td"
include "dialects/Net/Enums.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Net_Dialect : Dialect {
  let name = "net";
  let cppNamespace = "::meshwright::net";
  let summary = "The serial network: tensors of static shape, primitive operations and program state.";
  let description = [{
    A program is a `func.func` in a module of `net.variable`s. Every read of a variable returns its value at the entry
    of the step, and a step assigns a variable at most once, at its exit; all other values are SSA.

    Any operation may have discardable attributes, among them its part of the step (`net.role`), its place in the network
    (`net.scope`) and its name (`net.name`). `dialects/Attributes/Attributes.td` declares them; an undeclared one is an
    error.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
}

def Net_ReduceKindAttr : EnumAttr<Net_Dialect, ReduceKind, "reduce_kind"> {
  let cppNamespace = Net_Dialect.cppNamespace;
}

def Net_VariableKindAttr : EnumAttr<Net_Dialect, Net_VariableKind, "variable_kind">;

def Net_RoleAttr : EnumAttr<Net_Dialect, Net_Role, "role"> {
  let assemblyFormat = "`<` $value `>`";
}

def Net_CompareDirectionAttr : EnumAttr<Net_Dialect, Net_CompareDirection, "compare_direction">;

def Net_ScatterKindAttr : EnumAttr<Net_Dialect, Net_ScatterKind, "scatter_kind">;

def Net_ArgKindAttr : EnumAttr<Net_Dialect, Net_ArgKind, "arg_kind">;

class Net_Attr<string name, string mnem> : AttrDef<Net_Dialect, name> {
  let mnemonic = mnem;
}

def Net_InitializerAttr : Net_Attr<"Initializer", "init"> {
  let summary = "how the initial values of a variable are made";
  let description = [{
    `constant` of value `a`; `normal` and `truncated_normal` (cut at two standard deviations) of mean `a` and
    standard deviation `b`; `uniform` from `a` to `b`. Random values are functions of the variable's name,
    the run's seed and the element's index in the whole variable, so that they do not depend on the mesh.

    Example: `#net.init<normal, 0.0, 0.02>`
  }];
  let parameters = (ins EnumParameter<Net_InitializerKind>:$kind, "::mlir::FloatAttr":$a, "::mlir::FloatAttr":$b);
  let builders = [
    AttrBuilder<(ins "InitializerKind":$kind, "double":$a, CArg<"double", "0.0">:$b), [{
      auto f64 = ::mlir::Float64Type::get($_ctxt);
      return $_get($_ctxt, kind, ::mlir::FloatAttr::get(f64, a), ::mlir::FloatAttr::get(f64, b));
    }]>
  ];
  let assemblyFormat = "`<` $kind `,` custom<Double>($a) `,` custom<Double>($b) `>`";
}

def Net_GatherDimsAttr : Net_Attr<"GatherDims", "gather"> {
  let summary = "the dimension numbers of a gather, as in StableHLO";
  let parameters = (ins
    OptionalArrayRefParameter<"int64_t">:$offsetDims, OptionalArrayRefParameter<"int64_t">:$collapsedDims,
    OptionalArrayRefParameter<"int64_t">:$operandBatchingDims, OptionalArrayRefParameter<"int64_t">:$indicesBatchingDims,
    OptionalArrayRefParameter<"int64_t">:$startIndexMap, "int64_t":$indexVectorDim);
  let assemblyFormat = "`<` struct(custom<Dims>($offsetDims), custom<Dims>($collapsedDims), custom<Dims>($operandBatchingDims), custom<Dims>($indicesBatchingDims), custom<Dims>($startIndexMap), $indexVectorDim) `>`";
}

def Net_ScatterDimsAttr : Net_Attr<"ScatterDims", "scatter"> {
  let summary = "the dimension numbers of a scatter, as in StableHLO";
  let parameters = (ins
    OptionalArrayRefParameter<"int64_t">:$updateWindowDims, OptionalArrayRefParameter<"int64_t">:$insertedDims,
    OptionalArrayRefParameter<"int64_t">:$operandBatchingDims, OptionalArrayRefParameter<"int64_t">:$indicesBatchingDims,
    OptionalArrayRefParameter<"int64_t">:$scatterDimsToOperandDims, "int64_t":$indexVectorDim);
  let assemblyFormat = "`<` struct(custom<Dims>($updateWindowDims), custom<Dims>($insertedDims), custom<Dims>($operandBatchingDims), custom<Dims>($indicesBatchingDims), custom<Dims>($scatterDimsToOperandDims), $indexVectorDim) `>`";
}

def Net_ConvolutionDimsAttr : Net_Attr<"ConvolutionDims", "conv"> {
  let summary = "the dimension numbers of a convolution, as in StableHLO";
  let parameters = (ins
    "int64_t":$lhsBatch, "int64_t":$lhsFeature, OptionalArrayRefParameter<"int64_t">:$lhsSpatial,
    "int64_t":$rhsInput, "int64_t":$rhsOutput, OptionalArrayRefParameter<"int64_t">:$rhsSpatial,
    "int64_t":$outBatch, "int64_t":$outFeature, OptionalArrayRefParameter<"int64_t">:$outSpatial);
  let assemblyFormat = "`<` struct($lhsBatch, $lhsFeature, custom<Dims>($lhsSpatial), $rhsInput, $rhsOutput, custom<Dims>($rhsSpatial), $outBatch, $outFeature, custom<Dims>($outSpatial)) `>`";
}

// Classes of operations, by which passes choose; see dialects/Net/Traits.h.
class Net_Moves<string movement> : ParamNativeOpTrait<"Moves", "::meshwright::net::Movement::" # movement> {
  let cppNamespace = "::meshwright::net";
}
def Net_LoopPart : NativeOpTrait<"LoopPart"> {
  let cppNamespace = "::meshwright::net";
}

class Net_Op<string mnem, list<Trait> traits = []> : Op<Net_Dialect, mnem, traits>;

#endif
