//===- Meaning.cpp - parts of values through operations -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A table of its own, from the definitions of the operations: sums are linear, a sum over a dimension of which every
// rank has a part is a partial sum, and so is a product that contracts one. It shares nothing with the sharding rules,
// by which the program was made. An operation that is not here makes a whole value of whole ones and nothing known of
// others.
//
//===----------------------------------------------------------------------===//

#include "Meaning.h"
#include "dialects/Net/Net.h"
#include "dialects/Net/NetBuilder.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::placements;

static constexpr StringLiteral kUsedWhole = "reads a partial value as if it were whole; reduce it first";
static constexpr StringLiteral kCountedPerRank = "adds a whole value to a partial sum, so that it counts once per rank";
static constexpr StringLiteral kProduct = "multiplies two partial sums, which is not the product of the sums";

using Dims = ArrayRef<int64_t>;

static uint64_t bit(int64_t dim) { return dim < 64 ? uint64_t(1) << dim : 0; }

static uint64_t bits(Dims dims) {
  uint64_t all = 0;
  for (int64_t dim : dims)
    all |= bit(dim);
  return all;
}

static bool isAll(ArrayRef<State> operands, State::Kind kind) {
  return llvm::all_of(operands, [&](const State &state) { return state.kind == kind; });
}

static bool hasAny(ArrayRef<State> operands, State::Kind kind) {
  return llvm::any_of(operands, [&](const State &state) { return state.kind == kind; });
}

/// The dimensions of the result that `dims` of the operand become, by the place of each in `places`; nothing known if
/// one has none.
static State remap(uint64_t dims, Dims places) {
  uint64_t mapped = 0;
  for (auto [dim, place] : llvm::enumerate(places)) {
    if (!(dims & bit(static_cast<int64_t>(dim))))
      continue;
    if (place < 0)
      return {};
    mapped |= bit(place);
  }
  return State::split(mapped);
}

//===----------------------------------------------------------------------===//
// Elementwise operations
//===----------------------------------------------------------------------===//

/// Without partial operands: split where an operand is, in a dimension that all agree on. An elementwise operation on a
/// part makes a part, whatever is known of its other operands.
static State joinParts(ArrayRef<State> operands) {
  uint64_t dims = ~uint64_t(0);
  bool isSplit = false;
  for (const State &state : operands)
    if (state.kind == State::Split) {
      dims &= state.dims;
      isSplit = true;
    }
  if (isSplit)
    return State::split(dims);
  if (hasAny(operands, State::Unknown) || hasAny(operands, State::Partial))
    return {};
  return {hasAny(operands, State::Whole) ? State::Whole : State::Equal};
}

/// A sum or difference, or a choice among its operands by a predicate that all ranks share.
static Outcome combineSum(Operation *op, ArrayRef<State> operands, unsigned first) {
  ArrayRef<State> values = operands.drop_front(first);
  for (auto [index, state] : llvm::enumerate(values))
    if ((state.kind == State::Whole || state.kind == State::Equal) && !net::isZero(op->getOperand(first + index)) &&
        isa<net::AddOp, net::SubtractOp>(op))
      return {{}, kCountedPerRank, static_cast<unsigned>(first + index)};
  bool areSums = true;
  for (auto [index, state] : llvm::enumerate(values))
    areSums &= state.isPartialSum() || net::isZero(op->getOperand(first + index));
  return {areSums ? State::partial(ReduceKind::Sum) : State()};
}

static Outcome getElementwise(Operation *op, ArrayRef<State> operands) {
  if (!hasAny(operands, State::Partial))
    return {joinParts(operands)};
  const State *sum = llvm::find_if(operands, [](const State &state) { return state.kind == State::Partial; });
  unsigned index = sum - operands.begin();
  if (hasAny(operands, State::Split))
    return {{}, kUsedWhole, index};
  // Which functions a partial maximum may pass depends on their values.
  if (hasAny(operands, State::Unknown) ||
      !llvm::all_of(operands, [](const State &state) { return state.kind != State::Partial || state.isPartialSum(); }))
    return {};
  return llvm::TypeSwitch<Operation *, Outcome>(op)
      .Case<net::AddOp, net::SubtractOp>([&](auto) { return combineSum(op, operands, 0); })
      .Case<net::SelectOp>([&](auto) {
        return operands.front().kind != State::Partial ? combineSum(op, operands, 1) : Outcome{{}, kUsedWhole, 0};
      })
      .Case<net::NegateOp, net::ConvertOp, net::ReducePrecisionOp>([&](auto) { return Outcome{*sum}; })
      .Case<net::MultiplyOp>(
          [&](auto) { return isAll(operands, State::Partial) ? Outcome{{}, kProduct, 0} : Outcome{*sum}; })
      .Case<net::DivideOp>(
          [&](auto) { return operands[1].kind != State::Partial ? Outcome{*sum} : Outcome{{}, kUsedWhole, 1}; })
      .Default([&](Operation *) { return Outcome{{}, kUsedWhole, index}; });
}

//===----------------------------------------------------------------------===//
// Layout
//===----------------------------------------------------------------------===//

/// Where the only operand's dimensions go.
static State moveParts(Operation *op, const State &state) {
  return llvm::TypeSwitch<Operation *, State>(op)
      // Shapes of parts do not say which dimension of the whole became which.
      .Case<net::ReshapeOp>([&](auto) {
        int64_t rank = net::typeOf(op->getResult(0)).getRank();
        return State::split(rank < 64 ? (uint64_t(1) << rank) - 1 : 0);
      })
      .Case<net::TransposeOp>([&](net::TransposeOp transpose) {
        SmallVector<int64_t> places(transpose.getPermutation().size());
        for (auto [place, dim] : llvm::enumerate(transpose.getPermutation()))
          places[dim] = static_cast<int64_t>(place);
        return remap(state.dims, places);
      })
      .Case<net::BroadcastOp>([&](net::BroadcastOp broadcast) { return remap(state.dims, broadcast.getDims()); })
      .Case<net::SliceOp, net::PadOp>([&](auto) {
        uint64_t changed = 0;
        for (auto [dim, sizes] :
             llvm::enumerate(llvm::zip(net::shapeOf(op->getOperand(0)), net::shapeOf(op->getResult(0)))))
          changed |= std::get<0>(sizes) == std::get<1>(sizes) ? 0 : bit(static_cast<int64_t>(dim));
        return state.dims & changed ? State() : state;
      })
      .Case<net::ReverseOp>(
          [&](net::ReverseOp reverse) { return state.dims & bits(reverse.getDims()) ? State() : state; })
      .Default(State());
}

static Outcome getLayout(Operation *op, ArrayRef<State> operands) {
  if (llvm::all_of(operands, [](const State &s) { return s.kind == State::Whole || s.kind == State::Equal; })) {
    bool repeats = isa<net::BroadcastOp>(op) || hasAny(operands, State::Equal);
    return {{repeats ? State::Equal : State::Whole}};
  }
  if (auto join = dyn_cast<net::ConcatenateOp>(op)) {
    if (isAll(operands, State::Split)) {
      State parts = joinParts(operands);
      return {parts.dims & bit(join.getDim()) ? State() : parts};
    }
    bool areSums = llvm::all_of(llvm::enumerate(operands), [&](auto entry) {
      return entry.value().isPartialSum() || net::isZero(op->getOperand(entry.index()));
    });
    return {areSums ? State::partial(ReduceKind::Sum) : State()};
  }
  const State &state = operands.front();
  // The padding counts on every rank, so it has to be zero.
  bool addsNothing = !isa<net::PadOp>(op) || net::isZero(op->getOperand(1));
  if (state.kind == State::Partial)
    return {addsNothing && (state.isPartialSum() || !isa<net::PadOp>(op)) ? state : State()};
  return {state.kind == State::Split ? moveParts(op, state) : State()};
}

//===----------------------------------------------------------------------===//
// Sums and products
//===----------------------------------------------------------------------===//

static Outcome getReduction(net::ReduceOp op, const State &state) {
  ReduceKind kind = op.getKind();
  if (state.kind == State::Whole || state.kind == State::Unknown)
    return {state};
  if (state.kind == State::Partial) {
    if (state.reduction == kind)
      return {state};
    return {{}, state.isPartialSum() ? StringRef(kUsedWhole) : StringRef(), 0};
  }
  uint64_t reduced = bits(op.getDims());
  if ((state.dims & ~reduced) == 0)
    return {State::partial(kind)};
  if (state.dims & reduced)
    return {};
  SmallVector<int64_t> places;
  int64_t next = 0;
  for (int64_t dim = 0; dim < net::typeOf(op.getOperand()).getRank(); ++dim)
    places.push_back(reduced & bit(dim) ? -1 : next++);
  return {remap(state.dims, places)};
}

/// The places of an operand's dimensions in the result of a product: batch dimensions first, then those of either side.
static SmallVector<int64_t> getPlaces(int64_t rank, Dims batch, Dims contract, int64_t firstFree) {
  SmallVector<int64_t> places(rank, -1);
  for (auto [place, dim] : llvm::enumerate(batch))
    places[dim] = static_cast<int64_t>(place);
  for (int64_t dim = 0; dim < rank; ++dim)
    if (places[dim] < 0 && !llvm::is_contained(contract, dim))
      places[dim] = firstFree++;
  return places;
}

static Outcome getProduct(net::DotOp op, const State &left, const State &right) {
  uint64_t leftContract = bits(op.getLhsContract()), rightContract = bits(op.getRhsContract());
  auto isContracted = [](const State &state, uint64_t contract) {
    return state.kind == State::Split && (state.dims & ~contract) == 0;
  };
  if (left.isPartialSum() && right.isPartialSum())
    return {{}, kProduct, 0};
  if (left.kind == State::Partial || right.kind == State::Partial) {
    const State &other = left.kind == State::Partial ? right : left, &own = left.kind == State::Partial ? left : right;
    return {own.isPartialSum() && other.kind == State::Whole ? own : State()};
  }
  // A rank that has a part of what is contracted adds up that part.
  if (isContracted(left, leftContract) || isContracted(right, rightContract))
    return {State::partial(ReduceKind::Sum)};
  if (left.kind == State::Unknown || right.kind == State::Unknown)
    return {};
  int64_t leftRank = net::typeOf(op.getLhs()).getRank(), rightRank = net::typeOf(op.getRhs()).getRank();
  auto batch = static_cast<int64_t>(op.getLhsBatch().size());
  int64_t leftFree = leftRank - static_cast<int64_t>(op.getLhsContract().size());
  auto place = [&](const State &state, int64_t rank, Dims batchDims, Dims contract, int64_t first) {
    return state.kind == State::Split ? remap(state.dims, getPlaces(rank, batchDims, contract, first)) : state;
  };
  State placed[] = {place(left, leftRank, op.getLhsBatch(), op.getLhsContract(), batch),
                    place(right, rightRank, op.getRhsBatch(), op.getRhsContract(), leftFree)};
  return {joinParts(placed)};
}

Outcome placements::getOutcome(Operation *op, ArrayRef<State> operands) {
  if (operands.empty())
    return {{State::Equal}};
  if (net::getMovement(op))
    return getLayout(op, operands);
  if (op->hasTrait<OpTrait::Elementwise>())
    return getElementwise(op, operands);
  // A sum of equal parts is partial, one of whole values is whole.
  SmallVector<State, 4> states(operands);
  for (State &state : states)
    if (state.kind == State::Equal)
      state = {};
  operands = states;
  if (auto reduce = dyn_cast<net::ReduceOp>(op))
    return getReduction(reduce, operands.front());
  if (auto dot = dyn_cast<net::DotOp>(op))
    return getProduct(dot, operands[0], operands[1]);
  return {isAll(operands, State::Whole) ? State::whole() : State()};
}
