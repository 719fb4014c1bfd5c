//===- Enums.td - enumerations of the net dialect -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECTS_NET_ENUMS_TD
#define MESHWRIGHT_DIALECTS_NET_ENUMS_TD

include "mlir/IR/EnumAttr.td"

class Net_Enum<string name, string summary, list<I32EnumCase> cases> : I32Enum<name, summary, cases> {
  let cppNamespace = "::meshwright::net";
}

def Net_VariableKind : Net_Enum<"VariableKind", "the kind of a variable, which decides into which files it is saved", [
  I32EnumCase<"Parameter", 0, "parameter">,
  I32EnumCase<"OptimizerState", 1, "optimizer_state">,
  I32EnumCase<"Counter", 2, "counter">,
  I32EnumCase<"Buffer", 3, "buffer">,
  I32EnumCase<"Accumulator", 4, "accumulator">]>;

def Net_Role : Net_Enum<"Role", "the part of a training step that an operation belongs to", [
  I32EnumCase<"Forward", 0, "forward">,
  I32EnumCase<"Backward", 1, "backward">,
  I32EnumCase<"Optimize", 2, "optimize">]>;

def Net_CompareDirection : Net_Enum<"CompareDirection", "how two values are compared", [
  I32EnumCase<"Eq", 0, "eq">, I32EnumCase<"Ne", 1, "ne">, I32EnumCase<"Lt", 2, "lt">,
  I32EnumCase<"Le", 3, "le">, I32EnumCase<"Gt", 4, "gt">, I32EnumCase<"Ge", 5, "ge">]>;

def Net_ScatterKind : Net_Enum<"ScatterKind", "how a scatter combines an update with the present element", [
  I32EnumCase<"Assign", 0, "assign">, I32EnumCase<"Add", 1, "add">, I32EnumCase<"Multiply", 2, "multiply">,
  I32EnumCase<"Max", 3, "max">, I32EnumCase<"Min", 4, "min">]>;

def Net_ArgKind : Net_Enum<"ArgKind", "the element that an arg_reduce selects", [
  I32EnumCase<"Max", 0, "max">, I32EnumCase<"Min", 1, "min">]>;

def Net_InitializerKind : Net_Enum<"InitializerKind", "the distribution that initial values are drawn from", [
  I32EnumCase<"Constant", 0, "constant">,
  I32EnumCase<"Normal", 1, "normal">,
  I32EnumCase<"TruncatedNormal", 2, "truncated_normal">,
  I32EnumCase<"Uniform", 3, "uniform">]>;

#endif
