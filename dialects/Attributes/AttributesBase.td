//===- AttributesBase.td - the form of an attribute's declaration ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECTS_ATTRIBUTES_ATTRIBUTESBASE_TD
#define MESHWRIGHT_DIALECTS_ATTRIBUTES_ATTRIBUTESBASE_TD

include "mlir/IR/CommonAttrConstraints.td"
include "mlir/IR/CommonTypeConstraints.td"

/// A stage of the compiler; `User` for an attribute that a file may bring along, `Pipeline` for the driver, whose plans
/// and checks read a program after any stage.
class Stage<int position> {
  int number = position;
}
def User : Stage<0>;
def Import : Stage<1>;
def Train : Stage<2>;
def Annotate : Stage<3>;
def Complete : Stage<4>;
def Partition : Stage<5>;
def Optimize : Stage<6>;
def Schedule : Stage<7>;
def Emit : Stage<8>;
def Pipeline : Stage<9>;

/// The place that holds an attribute: operations of the name `op`, or, where that is empty, the place of the record.
class Carrier<string words, string operation = ""> {
  string text = words;
  string op = operation;
}
def OnOperation : Carrier<"an operation of a function">;
def OnArgument : Carrier<"an argument of a function">;
def OnResult : Carrier<"a result of a function">;
def OnModule : Carrier<"a module", "builtin.module">;
def OnFunction : Carrier<"a function", "func.func">;
def OnMesh : Carrier<"the mesh", "dist.mesh">;
def OnVariable : Carrier<"a variable", "net.variable">;
def OnAssign : Carrier<"an assignment", "net.assign">;
def OnCollective : Carrier<"a collective", "dist.collective">;
def OnLoop : Carrier<"a loop", "net.loop">;
def OnMatmul : Carrier<"a matrix product", "dist.matmul">;

/// The relation by which one operation inherits attributes from another, its origin.
///
/// With `all` it inherits every attribute, also of foreign dialects, but for those whose declaration names it in `notBy`;
/// else only those that name it in `by`. With `keeps` an attribute that the operation has already stays as it is. With
/// `removes` it loses those that it would inherit but the origin lacks.
class Inheritance<int position, string words, bit all = 0, bit keeps = 0, bit removes = 0> {
  int number = position;
  string text = words;
  bit inheritsAll = all;
  bit keepsOwn = keeps;
  bit removesOthers = removes;
}
def Replacement : Inheritance<0, "takes the place of the origin", /*all=*/1>;
def Clone : Inheritance<1, "computes the value of the origin a second time", /*all=*/1>;
def Local : Inheritance<2, "is the origin on one rank's parts of its values", /*all=*/1>;
def Specialization : Inheritance<3, "is the origin in the program of one class of ranks", /*all=*/1>;
def Conversion : Inheritance<4, "is a step of the conversion that is the origin", /*all=*/0, /*keeps=*/1>;
def Lowering : Inheritance<5, "is part of the lowered conversion that is the origin">;
def TaskLowering : Inheritance<6, "is part of a lowered conversion in a task of a pipeline">;
def Reader : Inheritance<7, "is cloned into the task of the origin, which reads it", /*all=*/0, /*keeps=*/0,
                         /*removes=*/1>;
def LoopPart : Inheritance<8, "carries the value of the origin through a loop or through times">;
def Companion : Inheritance<9, "is added next to the origin, in the same layer and part of the step">;
def OtherRole : Inheritance<10, "is added for the origin in another part of the step">;

/// A discardable attribute of the compiler's dialects.
///
/// The C++ name is `k`, the name without dialect in camel case, and `Attr`, in the dialect's namespace.
class Attribute<string fullName, Attr constraint, list<Carrier> places> {
  string name = fullName;
  Attr type = constraint;
  list<Carrier> carriers = places;
  /// Sentences for the reference.
  string meaning = ?;
  /// Flags of passes, or words for what is no pass.
  list<string> writtenBy = ?;
  /// The stages that read it.
  list<Stage> readBy = ?;
  /// The first stage that may write it and the last that may find it.
  Stage from = ?;
  Stage until = Emit;
  list<Inheritance> by = [];
  list<Inheritance> notBy = [];
}

#endif
