//===- Window.cpp - kernels of convolutions and sliding windows -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Convolutions of floats are computed by a library; their kernel is for other types and for machines without one.
//
//===----------------------------------------------------------------------===//

#include "Elementwise.h"
#include "dialects/Dist/Dist.h"
#include "meshwright/Rules/Elements.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;
using namespace meshwright::net;

namespace {

/// Finds what windows show, dimension by dimension. Indices are clamped, so that an element can be read whether the
/// window shows one or not.
struct WindowReader {
  kernel::Builder &builder;
  /// True if all dimensions so far show an element; null if they always do.
  Value inside = {};

  Value index(int64_t value) { return arith::ConstantIndexOp::create(builder, value); }

  void require(arith::CmpIPredicate predicate, Value lhs, Value rhs) {
    Value holds = arith::CmpIOp::create(builder, predicate, lhs, rhs);
    inside = inside ? arith::AndIOp::create(builder, inside, holds).getResult() : holds;
  }

  Value scale(Value value, int64_t factor) {
    return factor == 1 ? value : arith::MulIOp::create(builder, value, index(factor)).getResult();
  }

  /// The index in a dimension of `extent` on which `element` of the window at `place` stands.
  Value find(const WindowDim &window, int64_t extent, Value place, Value element) {
    if (window.isTrivial())
      return place;
    Value position = scale(place, window.stride);
    if (window.size > 1)
      position = arith::AddIOp::create(builder, position, scale(element, window.windowDilation));
    if (window.low != 0)
      position = arith::SubIOp::create(builder, position, index(window.low));
    int64_t last =
        (*window.countPlaces(extent) - 1) * window.stride + (window.size - 1) * window.windowDilation - window.low;
    if (window.low > 0) {
      require(arith::CmpIPredicate::sge, position, index(0));
      position = arith::MaxSIOp::create(builder, position, index(0));
    }
    if (window.baseDilation > 1) {
      Value step = index(window.baseDilation);
      require(arith::CmpIPredicate::eq, arith::RemUIOp::create(builder, position, step), index(0));
      position = arith::DivUIOp::create(builder, position, step);
    }
    if (last / window.baseDilation >= extent) {
      require(arith::CmpIPredicate::slt, position, index(extent));
      position = arith::MinSIOp::create(builder, position, index(extent - 1));
    }
    return position;
  }

  /// `element` where the windows show one, else `other`.
  Value select(Value element, Value other) {
    return inside ? arith::SelectOp::create(builder, inside, element, other).getResult() : element;
  }
};

/// A tensor that gives loops their sizes: nothing else does where elements are read by computed indices.
Value makeShape(kernel::Builder &builder, ArrayRef<int64_t> sizes) {
  Value empty = tensor::EmptyOp::create(builder, sizes, builder.getI1Type());
  Value zero = arith::ConstantOp::create(builder, builder.getBoolAttr(false));
  return linalg::FillOp::create(builder, zero, empty).getResult(0);
}

/// The map from loops, the first of which are those of a result of `rank`, to the result, or to the loops after them.
AffineMap mapLoops(kernel::Builder &builder, int64_t rank, int64_t inner, bool toResult) {
  SmallVector<AffineExpr> exprs;
  for (int64_t dim = toResult ? 0 : rank, end = toResult ? rank : rank + inner; dim < end; ++dim)
    exprs.push_back(builder.getAffineDimExpr(dim));
  return AffineMap::get(rank + inner, 0, exprs, builder.getContext());
}

/// Reduces for every element of `type`, which has the type of the sums, over loops of `sizes`; `body` reads an element.
Value reduceLoops(kernel::Builder &builder, ReduceKind kind, RankedTensorType type, ArrayRef<int64_t> sizes,
                  kernel::Body body) {
  AffineMap result = mapLoops(builder, type.getRank(), sizes.size(), /*toResult=*/true);
  if (sizes.empty())
    return kernel::reduceElements(builder, kind, type, result, {}, {}, body);
  return kernel::reduceElements(builder, kind, type, result, makeShape(builder, sizes),
                                mapLoops(builder, type.getRank(), sizes.size(), /*toResult=*/false), body);
}

/// `value`, sums in a wider type, rounded to `type` where that is another.
Value roundSums(kernel::Builder &builder, RankedTensorType type, Value value) {
  Type element = type.getElementType();
  if (kernel::elementOf(value) == kernel::getSignless(element))
    return value;
  return kernel::mapElements(builder, type, value, [&](kernel::Builder &inner, ValueRange args) {
    return kernel::convertFloat(inner, args[0], element);
  });
}

/// The neutral element of a reduction everywhere.
Value fillNeutral(kernel::Builder &builder, ReduceKind kind, RankedTensorType type) {
  return kernel::mapElements(builder, kernel::getSignless(type), {}, [&](kernel::Builder &inner, ValueRange) {
    return kernel::getNeutral(inner, kind, type.getElementType());
  });
}

//===----------------------------------------------------------------------===//
// Convolution
//===----------------------------------------------------------------------===//

/// One loop per dimension of the result, one over the input features of a group, and one per dimension of the window.
struct ConvolutionKernel : KernelOpInterface::ExternalModel<ConvolutionKernel, ConvolutionOp> {
  kernel::Results lowerToLinalg(Operation *op, OpBuilder &outer, ValueRange operands) const {
    auto convolution = cast<ConvolutionOp>(op);
    kernel::Builder builder(op->getLoc(), outer);
    auto type = kernel::typeOf(convolution.getResult());
    Type element = type.getElementType();
    if (llvm::any_of(operands, [](Value operand) { return kernel::typeOf(operand).getNumElements() == 0; }) ||
        type.getNumElements() == 0)
      return SmallVector<Value>{fillNeutral(builder, ReduceKind::Sum, type)};
    bool isWide = kernel::elementOf(convolution.getLhs()).isF64() || kernel::elementOf(convolution.getRhs()).isF64();
    Type accumulator = isa<FloatType>(element) && isWide ? builder.getF64Type() : kernel::getAccumulator(element);
    // Integers keep their sign, which conversions ask for.
    Type sums = isa<FloatType>(element) ? accumulator : element;

    ConvolutionDimsAttr dims = convolution.getDims();
    ArrayRef<int64_t> kernelShape = kernel::shapeOf(operands[1]);
    SmallVector<int64_t> sizes = {kernelShape[dims.getRhsInput()]};
    for (int64_t dim : dims.getRhsSpatial())
      sizes.push_back(kernelShape[dim]);
    Value result = reduceLoops(
        builder, ReduceKind::Sum, type.clone(sums), sizes,
        [&](kernel::Builder &inner, ValueRange) -> Value { return multiply(convolution, inner, operands, sums); });
    return SmallVector<Value>{roundSums(builder, type, result)};
  }

  /// The product of the two elements that meet at the current position of the loops.
  static Value multiply(ConvolutionOp op, kernel::Builder &builder, ValueRange operands, Type sums) {
    ConvolutionDimsAttr dims = op.getDims();
    int64_t rank = kernel::typeOf(op.getResult()).getRank();
    SmallVector<Value> left(rank), right(rank);
    WindowReader reader{builder};
    auto loop = [&](int64_t dim) -> Value { return linalg::IndexOp::create(builder, dim); };
    for (auto [number, dim] : llvm::enumerate(dims.getLhsSpatial())) {
      Value place = loop(dims.getOutSpatial()[number]), element = loop(rank + 1 + number);
      WindowDim window = op.getWindow(number);
      left[dim] = reader.find(window, kernel::shapeOf(operands[0])[dim], place, element);
      right[dims.getRhsSpatial()[number]] =
          op.getReversed()[number] ? arith::SubIOp::create(builder, reader.index(window.size - 1), element).getResult()
                                   : element;
    }
    Value output = loop(dims.getOutFeature()), input = loop(rank);
    right[dims.getRhsInput()] = input;
    right[dims.getRhsOutput()] = output;
    left[dims.getLhsBatch()] = inGroup(reader, op, op.getBatchGroups(), loop(dims.getOutBatch()), dims.getLhsBatch());
    left[dims.getLhsFeature()] = inGroup(reader, op, op.getGroups(), input, dims.getLhsFeature());
    Value x = tensor::ExtractOp::create(builder, operands[0], left);
    Value y = tensor::ExtractOp::create(builder, operands[1], right);
    x = kernel::convert(builder, kernel::elementOf(op.getLhs()), sums, x);
    y = kernel::convert(builder, kernel::elementOf(op.getRhs()), sums, y);
    bool isFloat = isa<FloatType>(sums);
    Value product =
        isFloat ? arith::MulFOp::create(builder, x, y).getResult() : arith::MulIOp::create(builder, x, y).getResult();
    return reader.select(product, kernel::getNeutral(builder, ReduceKind::Sum, sums));
  }

  /// The index along dimension `dim` of lhs, which is in `groups` parts, of position `index` in the group of the
  /// current output feature.
  static Value inGroup(WindowReader &reader, ConvolutionOp op, int64_t groups, Value index, int64_t dim) {
    if (groups == 1)
      return index;
    kernel::Builder &builder = reader.builder;
    ConvolutionDimsAttr dims = op.getDims();
    int64_t outputs = kernel::shapeOf(op.getResult())[dims.getOutFeature()] / groups;
    Value output = linalg::IndexOp::create(builder, dims.getOutFeature());
    Value group = outputs == 1 ? output : arith::DivUIOp::create(builder, output, reader.index(outputs)).getResult();
    return arith::AddIOp::create(builder, reader.scale(group, kernel::shapeOf(op.getLhs())[dim] / groups), index);
  }
};

//===----------------------------------------------------------------------===//
// Windows over all dimensions
//===----------------------------------------------------------------------===//

/// The dimensions along which a window has several elements, and how many those are.
template <typename OpT> SmallVector<int64_t> findWindowDims(OpT op, SmallVectorImpl<int64_t> &sizes) {
  SmallVector<int64_t> dims;
  for (auto [dim, size] : llvm::enumerate(op.getSizes()))
    if (size > 1) {
      dims.push_back(dim);
      sizes.push_back(size);
    }
  return dims;
}

struct ReduceWindowKernel : KernelOpInterface::ExternalModel<ReduceWindowKernel, ReduceWindowOp> {
  kernel::Results lowerToLinalg(Operation *op, OpBuilder &outer, ValueRange operands) const {
    auto reduce = cast<ReduceWindowOp>(op);
    kernel::Builder builder(op->getLoc(), outer);
    auto type = kernel::typeOf(reduce.getResult());
    Type element = type.getElementType(), accumulator = kernel::getAccumulator(element);
    if (kernel::typeOf(operands[0]).getNumElements() == 0)
      return SmallVector<Value>{fillNeutral(builder, reduce.getKind(), type)};
    Type sums = accumulator != kernel::getSignless(element) ? accumulator : element;
    SmallVector<int64_t> sizes, windowDims = findWindowDims(reduce, sizes);
    Value result = reduceLoops(
        builder, reduce.getKind(), type.clone(sums), sizes, [&](kernel::Builder &inner, ValueRange) -> Value {
          WindowReader reader{inner};
          SmallVector<Value> indices;
          for (int64_t dim = 0, next = type.getRank(); dim < type.getRank(); ++dim) {
            Value place = linalg::IndexOp::create(inner, dim), shown;
            if (llvm::is_contained(windowDims, dim))
              shown = linalg::IndexOp::create(inner, next++);
            indices.push_back(reader.find(reduce.getWindow(dim), kernel::shapeOf(operands[0])[dim], place, shown));
          }
          Value x = tensor::ExtractOp::create(inner, operands[0], indices);
          x = kernel::convert(inner, element, sums, x);
          return reader.select(x, kernel::getNeutral(inner, reduce.getKind(), sums));
        });
    return SmallVector<Value>{roundSums(builder, type, result)};
  }
};

/// Goes through the windows in order and through the elements of each, keeps the position of the one that is found, and
/// adds there. Order matters where windows overlap, so nothing here is a parallel loop.
struct SelectAndScatterKernel : KernelOpInterface::ExternalModel<SelectAndScatterKernel, SelectAndScatterOp> {
  kernel::Results lowerToLinalg(Operation *op, OpBuilder &outer, ValueRange operands) const {
    auto scatter = cast<SelectAndScatterOp>(op);
    kernel::Builder builder(op->getLoc(), outer);
    Value zeros = fillNeutral(builder, ReduceKind::Sum, kernel::typeOf(scatter.getResult()));
    if (kernel::typeOf(operands[0]).getNumElements() == 0 || kernel::typeOf(operands[1]).getNumElements() == 0)
      return SmallVector<Value>{zeros};
    Walk walk{scatter, operands, SmallVector<Value>(kernel::typeOf(operands[0]).getRank()), {}, {}};
    walk.windowDims = findWindowDims(scatter, walk.sizes);
    walk.shown.resize(walk.windowDims.size());
    return SmallVector<Value>{walk.places(builder, 0, zeros)};
  }

  struct Walk {
    SelectAndScatterOp op;
    ValueRange operands;
    /// The current place of the window, and the current element where the window has several.
    SmallVector<Value> place, shown;
    SmallVector<int64_t> windowDims, sizes = {};

    static SmallVector<Value> loop(kernel::Builder &builder, int64_t size, ValueRange carried,
                                   function_ref<SmallVector<Value>(kernel::Builder &, Value, ValueRange)> body) {
      Value zero = arith::ConstantIndexOp::create(builder, 0), one = arith::ConstantIndexOp::create(builder, 1);
      Value limit = arith::ConstantIndexOp::create(builder, size);
      auto made = scf::ForOp::create(builder, zero, limit, one, carried,
                                     [&](OpBuilder &nested, Location loc, Value iv, ValueRange values) {
                                       kernel::Builder inner(loc, nested);
                                       scf::YieldOp::create(inner, body(inner, iv, values));
                                     });
      return llvm::to_vector_of<Value>(made.getResults());
    }

    /// The loops over the places of the window from dimension `dim` inwards, which carry the result.
    Value places(kernel::Builder &builder, unsigned dim, Value into) {
      if (dim == place.size())
        return scatterOne(builder, into);
      return loop(builder, kernel::shapeOf(operands[1])[dim], into,
                  [&](kernel::Builder &inner, Value iv, ValueRange carried) {
                    place[dim] = iv;
                    return SmallVector<Value>{places(inner, dim + 1, carried[0])};
                  })[0];
    }

    /// The loops over the elements of the window, which carry whether one was found, it, and its indices.
    SmallVector<Value> search(kernel::Builder &builder, unsigned number, ValueRange found) {
      if (number == shown.size())
        return compare(builder, found);
      return loop(builder, sizes[number], found, [&](kernel::Builder &inner, Value iv, ValueRange carried) {
        shown[number] = iv;
        return search(inner, number + 1, carried);
      });
    }

    /// The state of the search after the current element.
    SmallVector<Value> compare(kernel::Builder &builder, ValueRange found) {
      WindowReader reader{builder};
      SmallVector<Value> indices;
      for (unsigned dim = 0, next = 0; dim < place.size(); ++dim) {
        bool isWindow = llvm::is_contained(windowDims, static_cast<int64_t>(dim));
        indices.push_back(reader.find(op.getWindow(dim), kernel::shapeOf(operands[0])[dim], place[dim],
                                      isWindow ? shown[next++] : Value()));
      }
      Value x = tensor::ExtractOp::create(builder, operands[0], indices);
      Value yes = arith::ConstantOp::create(builder, builder.getBoolAttr(true));
      Value takes =
          arith::XOrIOp::create(builder, arith::AndIOp::create(builder, found[0], keeps(builder, found[1], x)), yes);
      if (reader.inside)
        takes = arith::AndIOp::create(builder, takes, reader.inside);
      SmallVector<Value> now = {arith::OrIOp::create(builder, found[0], takes),
                                arith::SelectOp::create(builder, takes, x, found[1])};
      for (auto [old, index] : llvm::zip(found.drop_front(2), indices))
        now.push_back(arith::SelectOp::create(builder, takes, index, old));
      return now;
    }

    /// True if the search keeps `held`.
    Value keeps(kernel::Builder &builder, Value held, Value x) {
      Type type = kernel::elementOf(op.getOperand());
      bool isMax = op.getKind() == ArgKind::Max;
      if (isa<FloatType>(type))
        return arith::CmpFOp::create(builder, isMax ? arith::CmpFPredicate::OGE : arith::CmpFPredicate::OLE,
                                     kernel::convertFloat(builder, held, kernel::getAccumulator(type)),
                                     kernel::convertFloat(builder, x, kernel::getAccumulator(type)));
      using Predicate = arith::CmpIPredicate;
      auto predicate = kernel::isUnsigned(type) ? (isMax ? Predicate::uge : Predicate::ule)
                                                : (isMax ? Predicate::sge : Predicate::sle);
      return arith::CmpIOp::create(builder, predicate, held, x);
    }

    Value scatterOne(kernel::Builder &builder, Value into) {
      Type type = kernel::elementOf(op.getOperand()), wide = kernel::getAccumulator(type);
      SmallVector<Value> start = {arith::ConstantOp::create(builder, builder.getBoolAttr(false)),
                                  kernel::getNeutral(builder, ReduceKind::Sum, type)};
      for (unsigned dim = 0; dim < place.size(); ++dim)
        start.push_back(arith::ConstantIndexOp::create(builder, 0));
      SmallVector<Value> found = search(builder, 0, start);
      ArrayRef<Value> target = ArrayRef(found).drop_front(2);
      // A window of nothing but gaps adds zero to an element that is there.
      Value addend = tensor::ExtractOp::create(builder, operands[1], place);
      Value zero = kernel::getNeutral(builder, ReduceKind::Sum, type);
      addend = arith::SelectOp::create(builder, found[0], addend, zero);
      Value old = tensor::ExtractOp::create(builder, into, target), sum;
      if (isa<FloatType>(type))
        sum = kernel::convertFloat(builder,
                                   arith::AddFOp::create(builder, kernel::convertFloat(builder, old, wide),
                                                         kernel::convertFloat(builder, addend, wide)),
                                   type);
      else
        sum = kernel::combine(builder, ReduceKind::Sum, type, old, addend);
      return tensor::InsertOp::create(builder, sum, into, target);
    }
  };
};

} // namespace

void kernel::registerWindow(MLIRContext *context) {
  ConvolutionOp::attachInterface<ConvolutionKernel>(*context);
  ReduceWindowOp::attachInterface<ReduceWindowKernel>(*context);
  SelectAndScatterOp::attachInterface<SelectAndScatterKernel>(*context);
}
