//===- Window.cpp - forms of operations with sliding windows --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Forms.h"
#include "dialects/Net/Net.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::exporter;

/// `dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>`
template <typename OpT> static std::string getPadding(OpT op) {
  std::string pairs;
  for (auto [index, low, high] : llvm::enumerate(op.getLow(), op.getHigh()))
    pairs += (index ? ", " : "") + list({low, high});
  return "dense<[" + pairs + "]> : tensor<" + std::to_string(op.getLow().size()) + "x2xi64>";
}

static Terms writeReduceWindow(net::ReduceWindowOp op, Writer &writer) {
  Term operand = writer.get(op.getOperand());
  Term init = writeNeutral(writer, op.getKind(), operand.getElementType());
  auto writeBody = [&] { writer.writeReducer(Writer::getCombiner(op.getKind()), operand.getElementType()); };
  return writer.generic("stablehlo.reduce_window", {operand, init}, op->getResultTypes(),
                        "base_dilations = " + array(op.getBaseDilation()) + ", padding = " + getPadding(op) +
                            ", window_dilations = " + array(op.getWindowDilation()) + ", window_dimensions = " +
                            array(op.getSizes()) + ", window_strides = " + array(op.getStrides()),
                        {writeBody});
}

namespace {

/// The window of a `net.select_and_scatter` with gaps, which StableHLO's operation lacks, element by element: every
/// element of the window is a strided slice of the operand, in which the windows stand side by side.
class GappedWindow {
public:
  GappedWindow(net::SelectAndScatterOp op, Writer &writer) : op(op), writer(writer) {}

  /// The index of the selected element in the flat operand for every window; -1 where all elements are gaps.
  Term writeSelected(const Term &operand, ArrayRef<int64_t> places);

private:
  Term writePadded(const Term &term, const Term &gap);
  Term writeElement(const Term &padded, ArrayRef<int64_t> offset, ArrayRef<int64_t> places);

  net::SelectAndScatterOp op;
  Writer &writer;
};

} // namespace

Term GappedWindow::writePadded(const Term &term, const Term &gap) {
  SmallVector<int64_t> shape, interior;
  for (auto [size, low, high, dilation] :
       llvm::zip_equal(term.getShape(), op.getLow(), op.getHigh(), op.getBaseDilation())) {
    interior.push_back(dilation - 1);
    shape.push_back(low + size + std::max<int64_t>(size - 1, 0) * interior.back() + high);
  }
  return writer.op("stablehlo.pad", {term, gap}, term.type.clone(shape),
                   ", low = " + list(op.getLow()) + ", high = " + list(op.getHigh()) +
                       ", interior = " + list(interior));
}

Term GappedWindow::writeElement(const Term &padded, ArrayRef<int64_t> offset, ArrayRef<int64_t> places) {
  std::string box = " [";
  for (auto [dim, index, place] : llvm::enumerate(offset, places)) {
    net::WindowDim window = op.getWindow(dim);
    auto [start, limit] = window.findSlice(index, place);
    box +=
        (dim ? ", " : "") + std::to_string(start) + ":" + std::to_string(limit) + ":" + std::to_string(window.stride);
  }
  return writer.op("stablehlo.slice", padded, padded.type.clone(places), box + "]");
}

Term GappedWindow::writeSelected(const Term &operand, ArrayRef<int64_t> places) {
  Type i32 = IntegerType::get(op.getContext(), 32);
  Term numbers = writer.reshape(writer.iota(i32, operand.type.getNumElements(), 0), operand.getShape());
  Term values = writePadded(operand, writeNeutral(writer, ReduceKind::Sum, operand.getElementType()));
  Term indices = writePadded(numbers, writer.integer(i32, -1));
  Term none = writer.splat(i32, -1, places), bestValue, best = none;
  for (ArrayRef<int64_t> offset : net::listElements(op.getSizes())) {
    Term value = writeElement(values, offset, places), index = writeElement(indices, offset, places);
    if (!bestValue.type) {
      bestValue = value;
      best = index;
    } else {
      // A gap replaces nothing, and everything replaces a gap.
      Term keeps = writer.compare(op.getKind() == net::ArgKind::Max ? "GE" : "LE", bestValue, value);
      Term isElement = writer.compare("NE", best, none), isGap = writer.compare("EQ", index, none);
      keeps = writer.binary("stablehlo.or", writer.binary("stablehlo.and", keeps, isElement), isGap);
      bestValue = writer.select(keeps, bestValue, value);
      best = writer.select(keeps, best, index);
    }
  }
  return best;
}

/// The sums of the sources by the elements that their windows select.
static Term writeGapped(net::SelectAndScatterOp op, Writer &writer) {
  Term operand = writer.get(op.getOperand()), source = writer.get(op.getSource());
  Term selected = GappedWindow(op, writer).writeSelected(operand, source.getShape());
  int64_t count = source.type.getNumElements(), elements = operand.type.getNumElements();
  Term zero = writer.splat(operand.getElementType(), 0, elements);
  auto writeBody = [&] { writer.writeReducer("stablehlo.add", operand.getElementType()); };
  Term sums = writer
                  .generic("stablehlo.scatter",
                           {zero, writer.reshape(selected, {count, 1}), writer.reshape(source, count)}, {zero.type},
                           "indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<"
                           "inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, "
                           "unique_indices = false",
                           {writeBody})
                  .front();
  return writer.reshape(sums, operand.getShape());
}

static Terms writeSelectAndScatter(net::SelectAndScatterOp op, Writer &writer) {
  auto isOne = [](int64_t number) { return number == 1; };
  auto isNegative = [](int64_t number) { return number < 0; };
  if (!llvm::all_of(op.getBaseDilation(), isOne) || !llvm::all_of(op.getWindowDilation(), isOne) ||
      llvm::any_of(op.getLow(), isNegative) || llvm::any_of(op.getHigh(), isNegative))
    return {writeGapped(op, writer)};
  Term operand = writer.get(op.getOperand()), source = writer.get(op.getSource());
  Type scalar = RankedTensorType::get({}, operand.getElementType());
  auto writeSelect = [&] {
    writer.writeBlock({scalar, scalar}, [&](ArrayRef<Term> in) -> Terms {
      return {writer.compare(op.getKind() == net::ArgKind::Max ? "GE" : "LE", in[0], in[1])};
    });
  };
  auto writeScatter = [&] { writer.writeReducer("stablehlo.add", operand.getElementType()); };
  Term init = writeNeutral(writer, ReduceKind::Sum, operand.getElementType());
  return writer.generic("stablehlo.select_and_scatter", {operand, source, init}, op->getResultTypes(),
                        "padding = " + getPadding(op) + ", window_dimensions = " + array(op.getSizes()) +
                            ", window_strides = " + array(op.getStrides()),
                        {writeSelect, writeScatter});
}

void exporter::attachWindow(MLIRContext *context) {
  attachForm<net::ReduceWindowOp, writeReduceWindow>(context);
  attachForm<net::SelectAndScatterOp, writeSelectAndScatter>(context);
}
