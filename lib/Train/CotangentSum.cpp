//===- CotangentSum.cpp - sums of cotangents ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The cotangents of slices of a value, such as the query, key and value of a fused projection, are padded with zeros to
// the whole. Their sum would read and write the whole several times and hide from Partition that elements are only
// regrouped; so cotangents of slices that tile a dimension are concatenated.
//
// The cotangent of a gather is a scatter into zeros, often added to another cotangent (tied embeddings; logits from
// which the label's is picked). The scatter goes directly into the other cotangent.
//
//===----------------------------------------------------------------------===//

#include "ReverseMode.h"
#include "dialects/Dist/Dist.h"
#include "dialects/Net/NetBuilder.h"

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

/// The only dimension that `pad` pads, with zeros; -1 for any other pad.
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
  // A pad with other uses stays anyway, so concatenation would save nothing.
  int64_t dim = pad && pad->use_empty() ? paddedDim(pad) : -1;
  if (dim < 0)
    return std::nullopt;
  int64_t start = pad.getLow()[dim];
  return Piece{pad, dim, start, start + net::shapeOf(pad.getOperand())[dim]};
}

/// The concatenation of pieces if they tile their dimension; null otherwise.
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

/// The additive scatter into zeros that computes `cotangent`, possibly followed by a conversion, if it has no other
/// use.
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

/// Converts `value`, deferring its reduction until after the conversion.
static Value convertPartial(net::NetBuilder &build, Value value, Type type) {
  Value converted = build.convert(value, type);
  if (converted != value)
    dist::setDefersReduction(converted.getDefiningOp());
  return converted;
}

/// Applies `scatter` to `sum` instead of zeros.
static Value scatterInto(net::NetBuilder &build, Value sum, net::ScatterOp scatter) {
  Value into = convertPartial(build, sum, net::elementTypeOf(scatter.getResult()));
  return net::ScatterOp::create(build.builder, build.location, into.getType(), scatter.getKind(), into,
                                scatter.getIndices(), scatter.getUpdates(), scatter.getDims());
}

/// The sum of all terms in order; scatters are applied last.
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
