//===- Matrix.cpp - Cholesky factors and triangular solves ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `net` only has lower triangular matrices on the left. An upper triangular system is reversed in rows and columns, and
// a system on the right is transposed. Calls of LAPACK, which JAX makes on a CPU, become the same operations. For a
// matrix that is not positive definite, LAPACK returns the index of the failing minor, from which JAX's graphs select
// NaN; `stablehlo.cholesky` returns NaN, as in XLA.
//
//===----------------------------------------------------------------------===//

#include "Conversion.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::importer;

namespace {

/// The form of a triangular system of equations.
struct System {
  bool leftSide, lower, transposed, unitDiagonal;
};

/// Builds expressions of matrices in the last two dimensions.
class Matrices : public Expression {
public:
  Matrices(Conversion &conversion, int64_t rank) : Expression(conversion), rank(rank) {}

  Value transpose(Value x) {
    auto order = llvm::to_vector(llvm::seq<int64_t>(0, rank));
    std::swap(order[rank - 2], order[rank - 1]);
    return build.transpose(x, order);
  }
  Value withUnitDiagonal(Value x) {
    Type i32 = build.builder.getI32Type();
    Value row = build.iota(i32, net::shapeOf(x), rank - 2), column = build.iota(i32, net::shapeOf(x), rank - 1);
    return build.select(build.compare(net::CompareDirection::Eq, row, column), build.splatLike(x, 1), x);
  }
  Value cholesky(Value x, bool lower) {
    return lower ? build.unary<net::CholeskyOp>(x) : transpose(build.unary<net::CholeskyOp>(transpose(x)));
  }
  /// The order of the first leading minor of every matrix that is not positive, as i32, like LAPACK's `info`; 0 if
  /// there is none. `factor` is the Cholesky factor, in either triangle.
  Value failedMinor(Value factor);
  /// `factor`, with NaN for all matrices without a Cholesky factor.
  Value orNaN(Value factor);
  Value solve(Value lhs, Value rhs, System system);

private:
  int64_t rank;
};

} // namespace

Value Matrices::failedMinor(Value factor) {
  Type i32 = build.builder.getI32Type();
  ArrayRef<int64_t> shape = net::shapeOf(factor);
  Value row = build.iota(i32, shape, rank - 2), column = build.iota(i32, shape, rank - 1);
  Value onDiagonal = build.compare(net::CompareDirection::Eq, row, column);
  // The diagonal is the root of the remainder: 0 or NaN if that is not positive.
  Value isPositive = build.compare(net::CompareDirection::Gt, factor, build.splatLike(factor, 0));
  Value fails = build.binary<net::AndOp>(onDiagonal, build.unary<net::NotOp>(isPositive));
  auto beyond = static_cast<double>(shape.back() + 1);
  Value order = build.add(row, build.splatLike(row, 1));
  Value first =
      build.reduce(ReduceKind::Min, build.select(fails, order, build.splatLike(row, beyond)), {rank - 2, rank - 1});
  Value isDone = build.compare(net::CompareDirection::Ge, first, build.splatLike(first, beyond));
  return build.select(isDone, build.splatLike(first, 0), first);
}

Value Matrices::orNaN(Value factor) {
  Value info = failedMinor(factor);
  Value isDone = build.compare(net::CompareDirection::Eq, info, build.splatLike(info, 0));
  auto batch = llvm::to_vector(llvm::seq<int64_t>(0, rank - 2));
  Value isFactor = build.broadcast(isDone, net::shapeOf(factor), batch);
  return build.select(isFactor, factor, build.splatLike(factor, std::numeric_limits<double>::quiet_NaN()));
}

Value Matrices::solve(Value lhs, Value rhs, System system) {
  if (system.unitDiagonal)
    lhs = withUnitDiagonal(lhs);
  // X A = B is equivalent to Aᵀ Xᵀ = Bᵀ.
  if (system.transposed == system.leftSide) {
    lhs = transpose(lhs);
    system.lower = !system.lower;
  }
  if (!system.leftSide)
    rhs = transpose(rhs);
  if (!system.lower) {
    lhs = build.reverse(lhs, {rank - 2, rank - 1});
    rhs = build.reverse(rhs, {rank - 2});
  }
  Value solution = net::TriangularSolveOp::create(build.builder, build.location, rhs.getType(), lhs, rhs);
  if (!system.lower)
    solution = build.reverse(solution, {rank - 2});
  return system.leftSide ? solution : transpose(solution);
}

static LogicalResult verifyMatrices(Conversion &conversion, RankedTensorType type) {
  if (isa<FloatType>(type.getElementType()) && type.getRank() >= 2 &&
      type.getShape().end()[-1] == type.getShape().end()[-2])
    return success();
  return conversion.error() << "has " << type << ", which are not square matrices of floats";
}

static FailureOr<bool> getFlag(Conversion &conversion, StringRef name) {
  if (auto flag = conversion.getOp()->getAttrOfType<BoolAttr>(name))
    return flag.getValue();
  return conversion.error() << "has no flag \"" << name << "\"";
}

static Converted buildCholesky(Conversion &conversion, bool lower) {
  RankedTensorType type = conversion.getOperandType(0);
  if (failed(verifyMatrices(conversion, type)))
    return failure();
  if (conversion.getType() != type)
    return conversion.error() << "turns " << type << " into " << conversion.getType();
  Matrices matrices(conversion, type.getRank());
  return SmallVector<Value>{matrices.cholesky(conversion.getOp()->getOperand(0), lower)};
}

static Converted buildSolve(Conversion &conversion, System system) {
  RankedTensorType lhs = conversion.getOperandType(0), rhs = conversion.getOperandType(1);
  if (failed(verifyMatrices(conversion, lhs)))
    return failure();
  int64_t rank = lhs.getRank(), facing = system.leftSide ? rank - 2 : rank - 1;
  if (rhs.getRank() != rank || rhs.getElementType() != lhs.getElementType() || conversion.getType() != rhs ||
      rhs.getShape().drop_back(2) != lhs.getShape().drop_back(2) || rhs.getDimSize(facing) != lhs.getDimSize(rank - 1))
    return conversion.error() << "solves " << lhs << " for " << rhs << " into " << conversion.getType();
  Matrices matrices(conversion, rank);
  Operation *op = conversion.getOp();
  return SmallVector<Value>{matrices.solve(op->getOperand(0), op->getOperand(1), system)};
}

static Converted convertCholesky(Conversion &conversion) {
  if (failed(conversion.expect(1)))
    return failure();
  // The printer omits `lower` for upper triangles.
  bool isPrinted = conversion.getOp()->hasAttr("lower");
  FailureOr<bool> lower = isPrinted ? getFlag(conversion, "lower") : FailureOr<bool>(false);
  Converted factor = failed(lower) ? Converted(failure()) : buildCholesky(conversion, *lower);
  if (failed(factor))
    return failure();
  return SmallVector<Value>{Matrices(conversion, conversion.getType().getRank()).orNaN(factor->front())};
}

static Converted convertTriangularSolve(Conversion &conversion) {
  if (failed(conversion.expect(2)))
    return failure();
  FailureOr<bool> left = getFlag(conversion, "left_side"), lower = getFlag(conversion, "lower");
  FailureOr<bool> unit = getFlag(conversion, "unit_diagonal");
  FailureOr<StringRef> transpose = conversion.getWord("transpose_a");
  if (failed(left) || failed(lower) || failed(unit) || failed(transpose))
    return failure();
  if (*transpose != "NO_TRANSPOSE" && *transpose != "TRANSPOSE" && *transpose != "ADJOINT")
    return conversion.error() << "has " << *transpose << " as \"transpose_a\"";
  return buildSolve(conversion, {*left, *lower, *transpose != "NO_TRANSPOSE", *unit});
}

//===----------------------------------------------------------------------===//
// LAPACK, as JAX calls it on a CPU
//===----------------------------------------------------------------------===//

/// The letter of a LAPACK argument, 'U' or 'L' for instance.
static FailureOr<char> getLetter(Conversion &conversion, StringRef name) {
  auto config = conversion.getOp()->getAttrOfType<DictionaryAttr>("mhlo.backend_config");
  auto letter = config ? config.getAs<IntegerAttr>(name) : IntegerAttr();
  if (!letter)
    return conversion.error() << "has no letter \"" << name << "\" in \"mhlo.backend_config\"";
  return static_cast<char>(letter.getValue().getLimitedValue(127));
}

/// The second result is LAPACK's `info`, which JAX turns into NaNs.
Converted importer::convertLapackCholesky(Conversion &conversion) {
  if (failed(conversion.expect(1, 2)))
    return failure();
  FailureOr<char> part = getLetter(conversion, "uplo");
  Converted factor = failed(part) ? Converted(failure()) : buildCholesky(conversion, *part == 'L');
  if (failed(factor))
    return failure();
  RankedTensorType type = conversion.getType();
  auto info = RankedTensorType::get(type.getShape().drop_back(2), IntegerType::get(type.getContext(), 32));
  if (conversion.getType(1) != info)
    return conversion.error() << "returns " << conversion.getType(1) << " as the state of factors of " << type
                              << ", which is " << info;
  factor->push_back(Matrices(conversion, type.getRank()).failedMinor(factor->front()));
  return factor;
}

Converted importer::convertLapackSolve(Conversion &conversion) {
  if (failed(conversion.expect(2)))
    return failure();
  FailureOr<char> side = getLetter(conversion, "side"), part = getLetter(conversion, "uplo");
  FailureOr<char> transpose = getLetter(conversion, "trans_x"), diagonal = getLetter(conversion, "diag");
  if (failed(side) || failed(part) || failed(transpose) || failed(diagonal))
    return failure();
  return buildSolve(conversion, {*side == 'L', *part == 'L', *transpose != 'N', *diagonal == 'U'});
}

void importer::addMatrix(ConverterMap &converters) {
  converters["stablehlo.cholesky"] = convertCholesky;
  converters["stablehlo.triangular_solve"] = convertTriangularSolve;
}
