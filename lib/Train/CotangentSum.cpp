//===- CotangentSum.cpp - adds up the cotangents of a value ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A value that is cut into slices, as the fused query, key and value of attention are, gets back one cotangent per
// slice, padded with zeros to the whole. Adding them would read and write the whole several times, and would hide from
// Partition that nothing but a regrouping happens; where the slices tile a dimension their cotangents are concatenated.
//
// A value from which rows are gathered gets back a scatter into zeros, often beside a cotangent of another kind: a tied
// embedding, logits of which the label's is picked. The scatter goes into that one instead.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Dist.h"
#include "dialects/Net/NetBuilder.h"
#include "lib/Train/ReverseMode.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::train;

namespace {

/// A cotangent that is zero outside a range of one dimension.
struct Piece {
  net::PadOp pad;
  int64_t dim, start, limit;
};

} // namespace

/// The one dimension that `pad` pads with zeros, and nothing else; -1 if it is of another kind.
static int64_t paddedDim(net::PadOp pad) {
  std::optional<APFloat> value = net::getFloatSplat(pad.getValue());
  if (!value || !value->isPosZero())
    return -1;
  int64_t padded = -1;
  for (int64_t dim = 0, rank = pad.getLow().size(); dim < rank; ++dim) {
    int64_t low = pad.getLow()[dim], high = pad.getHigh()[dim];
    if (pad.getInterior()[dim] != 0 || low < 0 || high < 0)
      return -1;
    if (low == 0 && high == 0)
      continue;
    if (padded >= 0)
      return -1;
    padded = dim;
  }
  return padded;
}

static std::optional<Piece> asPiece(Value cotangent) {
  auto pad = cotangent.getDefiningOp<net::PadOp>();
  // A pad that others use too is kept for them, and nothing is saved.
  int64_t dim = pad && pad->use_empty() ? paddedDim(pad) : -1;
  if (dim < 0)
    return std::nullopt;
  int64_t start = pad.getLow()[dim];
  return Piece{pad, dim, start, start + net::shapeOf(pad.getOperand())[dim]};
}

/// The concatenation of pieces if they tile their dimension, otherwise null.
static Value concatenatePieces(net::NetBuilder &build, SmallVector<Piece> pieces) {
  if (pieces.size() < 2)
    return {};
  llvm::sort(pieces, [](const Piece &left, const Piece &right) { return left.start < right.start; });
  int64_t dim = pieces.front().dim, reached = 0;
  SmallVector<Value> parts;
  for (Piece &piece : pieces) {
    if (piece.dim != dim || piece.start != reached)
      return {};
    reached = piece.limit;
    parts.push_back(piece.pad.getOperand());
  }
  if (reached != net::shapeOf(pieces.front().pad.getResult())[dim])
    return {};
  return build.concatenate(parts, dim);
}

/// The scatter by which `cotangent` adds into zeros, rounded afterwards or not, if nobody else uses it.
static net::ScatterOp asScatter(Value cotangent) {
  auto convert = cotangent.getDefiningOp<net::ConvertOp>();
  auto scatter = (convert ? convert.getOperand() : cotangent).getDefiningOp<net::ScatterOp>();
  if (!scatter || !cotangent.use_empty() || scatter.getKind() != net::ScatterKind::Add)
    return {};
  if (convert ? !scatter->hasOneUse() : !scatter->use_empty())
    return {};
  std::optional<APFloat> operand = net::getFloatSplat(scatter.getOperand());
  return operand && operand->isZero() ? scatter : net::ScatterOp();
}

/// `value` in another type, on which ranks agree no earlier than behind that.
static Value convertPartial(net::NetBuilder &build, Value value, Type type) {
  Value converted = build.convert(value, type);
  if (converted != value)
    dist::setTravels(converted.getDefiningOp());
  return converted;
}

/// `sum` and what `scatter` adds to zeros.
static Value scatterInto(net::NetBuilder &build, Value sum, net::ScatterOp scatter) {
  Value into = convertPartial(build, sum, net::elementTypeOf(scatter.getResult()));
  return net::ScatterOp::create(build.builder, build.location, into.getType(), scatter.getKind(), into,
                                scatter.getIndices(), scatter.getUpdates(), scatter.getDims());
}

/// The sum of all terms in order, those that scatter last.
static Value addUp(net::NetBuilder &build, ArrayRef<Value> terms) {
  SmallVector<net::ScatterOp> scatters;
  Value sum;
  for (Value term : terms) {
    if (net::ScatterOp scatter = asScatter(term))
      scatters.push_back(scatter);
    else
      sum = sum ? build.add(sum, term) : term;
  }
  Type own = net::elementTypeOf(terms.front());
  for (net::ScatterOp scatter : scatters)
    sum = !sum ? scatter.getResult() : scatterInto(build, sum, scatter);
  return convertPartial(build, sum, own);
}

Value train::sumCotangents(OpBuilder &builder, Location location, ArrayRef<Value> cotangents) {
  net::NetBuilder build(builder, location);
  SmallVector<Piece> pieces;
  SmallVector<Value> terms;
  for (Value cotangent : cotangents) {
    if (std::optional<Piece> piece = asPiece(cotangent))
      pieces.push_back(*piece);
    else
      terms.push_back(cotangent);
  }
  if (Value whole = concatenatePieces(build, pieces))
    terms.insert(terms.begin(), whole);
  else
    terms.assign(cotangents.begin(), cotangents.end());
  return addUp(build, terms);
}
