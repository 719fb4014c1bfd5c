//===- Elementwise.td - operations on corresponding elements --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECTS_NET_ELEMENTWISE_TD
#define MESHWRIGHT_DIALECTS_NET_ELEMENTWISE_TD

include "dialects/Net/NetBase.td"

class Net_Unary<string mnem, string what> : Net_Op<mnem, [Pure, Elementwise, SameOperandsAndResultType]> {
  let summary = what # " of every element";
  let description = [{
    - **C1**: operand and result have the same type.

    Example: `%1 = net.}] # mnem # [{ %0 : tensor<4xf32>`
  }];
  let arguments = (ins AnyStaticShapeTensor:$operand);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($result)";
}

class Net_Binary<string mnem, string what> : Net_Op<mnem, [Pure, Elementwise, SameOperandsAndResultType]> {
  let summary = what # " of corresponding elements";
  let description = [{
    - **C1**: operands and result have the same type.

    Example: `%2 = net.}] # mnem # [{ %0, %1 : tensor<4xf32>`
  }];
  let arguments = (ins AnyStaticShapeTensor:$lhs, AnyStaticShapeTensor:$rhs);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($result)";
}

def Net_AbsOp : Net_Unary<"abs", "absolute value">;
def Net_AcosOp : Net_Unary<"acos", "arc cosine">;
def Net_AcoshOp : Net_Unary<"acosh", "inverse hyperbolic cosine">;
def Net_AsinOp : Net_Unary<"asin", "arc sine">;
def Net_AsinhOp : Net_Unary<"asinh", "inverse hyperbolic sine">;
def Net_AtanhOp : Net_Unary<"atanh", "inverse hyperbolic tangent">;
def Net_CbrtOp : Net_Unary<"cbrt", "cube root">;
def Net_CeilOp : Net_Unary<"ceil", "ceiling (rounding up to an integer)">;
def Net_CosineOp : Net_Unary<"cosine", "cosine">;
def Net_CoshOp : Net_Unary<"cosh", "hyperbolic cosine">;
def Net_DigammaOp : Net_Unary<"digamma", "derivative of the logarithm of the gamma function">;
def Net_ErfOp : Net_Unary<"erf", "error function">;
def Net_ErfcOp : Net_Unary<"erfc", "complementary error function">;
def Net_ExpOp : Net_Unary<"exponential", "exponential">;
def Net_Expm1Op : Net_Unary<"exponential_minus_one", "exp(x) - 1, accurate near zero,">;
def Net_FloorOp : Net_Unary<"floor", "floor (rounding down to an integer)">;
def Net_LgammaOp : Net_Unary<"lgamma", "logarithm of the absolute value of the gamma function">;
def Net_LogOp : Net_Unary<"log", "natural logarithm">;
def Net_Log1pOp : Net_Unary<"log_plus_one", "log(1 + x), accurate near zero,">;
def Net_LogisticOp : Net_Unary<"logistic", "logistic function 1/(1+exp(-x))">;
def Net_NegateOp : Net_Unary<"negate", "negation">;
def Net_NotOp : Net_Unary<"not", "bitwise (for i1, logical) complement">;
def Net_RoundOp : Net_Unary<"round_nearest_even", "nearest integer, ties to even,">;
def Net_RsqrtOp : Net_Unary<"rsqrt", "reciprocal square root">;
def Net_SignOp : Net_Unary<"sign", "sign">;
def Net_SineOp : Net_Unary<"sine", "sine">;
def Net_SinhOp : Net_Unary<"sinh", "hyperbolic sine">;
def Net_SqrtOp : Net_Unary<"sqrt", "square root">;
def Net_TanOp : Net_Unary<"tan", "tangent">;
def Net_TanhOp : Net_Unary<"tanh", "hyperbolic tangent">;

def Net_AddOp : Net_Binary<"add", "sum">;
def Net_AndOp : Net_Binary<"and", "bitwise (for i1, logical) and">;
def Net_Atan2Op : Net_Binary<"atan2", "two-argument arc tangent of lhs / rhs">;
def Net_DivideOp : Net_Binary<"divide", "quotient">;
def Net_MaximumOp : Net_Binary<"maximum", "larger, NaN if either is,">;
def Net_MinimumOp : Net_Binary<"minimum", "smaller, NaN if either is,">;
def Net_MultiplyOp : Net_Binary<"multiply", "product">;
def Net_OrOp : Net_Binary<"or", "bitwise (for i1, logical) or">;
def Net_PowerOp : Net_Binary<"power", "power">;
def Net_RemainderOp : Net_Binary<"remainder", "remainder with the sign of the dividend">;
def Net_ShiftLeftOp : Net_Binary<"shift_left", "left shift">;
def Net_ShiftRightArithmeticOp : Net_Binary<"shift_right_arithmetic", "right shift that copies the sign">;
def Net_ShiftRightLogicalOp : Net_Binary<"shift_right_logical", "right shift that fills with zeros">;
def Net_SubtractOp : Net_Binary<"subtract", "difference">;
def Net_XorOp : Net_Binary<"xor", "bitwise (for i1, logical) exclusive or">;

def Net_CompareOp : Net_Op<"compare", [Pure, Elementwise, SameTypeOperands, SameOperandsAndResultShape]> {
  let summary = "compares corresponding elements";
  let description = [{
    Floats are compared as IEEE 754 defines, so NaN is unequal to everything; with `total_order`, by the total
    order of IEEE 754. Integers are compared by the signedness of their type; i1 is unsigned.

    - **C1**: operands have the same type.
    - **C2**: the result is of i1 and has the operands' shape.
    - **C3**: only floats may be compared by `total_order`.

    Example: `%2 = net.compare lt, %0, %1 : tensor<4xf32> -> tensor<4xi1>`
  }];
  let arguments = (ins Net_CompareDirectionAttr:$direction, AnyStaticShapeTensor:$lhs, AnyStaticShapeTensor:$rhs,
                       UnitAttr:$total_order);
  let results = (outs StaticShapeTensorOf<[I1]>:$result);
  let assemblyFormat = "`` $direction `,` $lhs `,` $rhs (`total_order` $total_order^)? attr-dict `:` type($lhs) `->` type($result)";
  let hasVerifier = 1;
}

def Net_SelectOp : Net_Op<"select", [Pure, Elementwise, AllTypesMatch<["on_true", "on_false", "result"]>,
                                     AllShapesMatch<["predicate", "result"]>]> {
  let summary = "selects each element from one of two tensors";
  let description = [{
    - **C1**: both branches and the result have the same type.
    - **C2**: the predicate is of i1 and has the same shape.

    Example: `%3 = net.select %0, %1, %2 : tensor<4xf32>`
  }];
  let arguments = (ins StaticShapeTensorOf<[I1]>:$predicate, AnyStaticShapeTensor:$on_true, AnyStaticShapeTensor:$on_false);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "$predicate `,` $on_true `,` $on_false attr-dict `:` type($predicate) `,` type($result)";
}

def Net_ConvertOp : Net_Op<"convert", [Pure, Elementwise, SameOperandsAndResultShape]> {
  let summary = "converts every element to another type";
  let description = [{
    Conversion to a float rounds to the nearest value, ties to even; to an integer, towards zero. Conversion to i1 is
    true for every value but zero.

    - **C1**: operand and result have the same shape.

    Example: `%1 = net.convert %0 : tensor<4xf32> -> tensor<4xbf16>`
  }];
  let arguments = (ins AnyStaticShapeTensor:$operand);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
}

def Net_BitcastConvertOp : Net_Op<"bitcast_convert", [Pure, Elementwise, SameOperandsAndResultShape]> {
  let summary = "reinterprets the bits of every element as another type";
  let description = [{
    - **C1**: operand and result have the same shape.
    - **C2**: their element types have the same width.

    Example: `%1 = net.bitcast_convert %0 : tensor<4xui32> -> tensor<4xf32>`
  }];
  let arguments = (ins AnyStaticShapeTensor:$operand);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
}

def Net_ReducePrecisionOp : Net_Op<"reduce_precision", [Pure, Elementwise, SameOperandsAndResultType]> {
  let summary = "rounds every element to the precision of a narrower float";
  let description = [{
    Rounds to the nearest number, ties to even, of a float format with one sign bit and the given numbers of exponent
    and mantissa bits. The format flushes denormals to zero unless it has as many exponent bits as the operand. Overflow
    gives infinity.

    - **C1**: the operand is of floats, and the result has the same type.
    - **C2**: `exponent` is at least 1 and `mantissa` at least 0.

    Example: `%1 = net.reduce_precision %0 exponent = 5 mantissa = 10 : tensor<4xf32>`
  }];
  let arguments = (ins StaticShapeTensorOf<[AnyFloat]>:$operand, I64Attr:$exponent, I64Attr:$mantissa);
  let results = (outs StaticShapeTensorOf<[AnyFloat]>:$result);
  let assemblyFormat = "$operand `exponent` `=` $exponent `mantissa` `=` $mantissa attr-dict `:` type($operand)";
  let hasVerifier = 1;
}

def Net_IsFiniteOp : Net_Op<"is_finite", [Pure, Elementwise, SameOperandsAndResultShape]> {
  let summary = "true for every element that is neither infinite nor NaN";
  let description = [{
    - **C1**: the result is of i1 and has the operand's shape.

    Example: `%1 = net.is_finite %0 : tensor<4xf32> -> tensor<4xi1>`
  }];
  let arguments = (ins StaticShapeTensorOf<[AnyFloat]>:$operand);
  let results = (outs StaticShapeTensorOf<[I1]>:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
}

#endif
