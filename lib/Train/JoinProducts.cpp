//===- JoinProducts.cpp - sums of products as one product -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reductions by a tree pass no addition, so a sum of products would take one of each. As one product over the joined
// dimensions it takes one in all:
//
//     A·P + B·Q  =  [A₀ B₀ | A₁ B₁ | …] · [P₀ Q₀ | P₁ Q₁ | …]ᵀ        with parts 0, 1, … of each summed dimension
//
// A fused projection has the terms side by side already, but whole: [A | B]. Its parts have to lie next to each other
// as well, because a rank has a part of each.
//
//===----------------------------------------------------------------------===//

#include "JoinProducts.h"
#include "Program.h"
#include "dialects/Net/NetBuilder.h"
#include "meshwright/Support/Gradients.h"
#include "meshwright/Support/Scopes.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::train;

namespace {

/// The indices from `begin` to before `begin + size` of the dimension of `value` over which a product sums.
struct Piece {
  Value value;
  int64_t dim, begin, size;
};

/// A product that is a term of a sum.
struct Term {
  Piece lhs, rhs;
};

/// Products that become one, with all their terms.
struct Group {
  SmallVector<net::DotOp> dots;
  SmallVector<Term> terms;
};

class Joiner {
public:
  explicit Joiner(int64_t parts) : parts(parts) {}

  void joinSum(net::AddOp root);
  void joinFused(net::DotOp dot);

private:
  SmallVector<Term> findTerms(net::DotOp dot) const;
  Value join(const Group &group, OpBuilder &builder) const;
  Value joinPieces(ArrayRef<Piece> pieces, net::NetBuilder &build, Operation *like) const;

  int64_t parts;
};

} // namespace

/// Returns the values that single-use additions add up to `root`.
static SmallVector<Value> findAddends(net::AddOp root) {
  SmallVector<Value> addends, rest = {root.getRhs(), root.getLhs()};
  while (!rest.empty()) {
    Value value = rest.pop_back_val();
    auto add = value.getDefiningOp<net::AddOp>();
    if (add && value.hasOneUse())
      rest.append({add.getRhs(), add.getLhs()});
    else
      addends.push_back(value);
  }
  return addends;
}

/// The values that `value` joins along `dim`, if differentiation made it of the cotangents of pieces of one tensor;
/// else `value` itself.
static SmallVector<Value> findJoined(Value value, int64_t dim) {
  auto joined = value.getDefiningOp<net::ConcatenateOp>();
  bool isCotangent =
      joined && joined.getDim() == static_cast<uint64_t>(dim) && net::getRole(joined) == net::Role::Backward;
  return isCotangent ? llvm::to_vector(llvm::map_range(joined.getOperands(), [](Value piece) { return piece; }))
                     : SmallVector<Value>{value};
}

/// The terms of `dot`; none if it has a batch, sums over several dimensions, or has a term without equal parts.
SmallVector<Term> Joiner::findTerms(net::DotOp dot) const {
  if (!dot.getLhsBatch().empty() || dot.getLhsContract().size() != 1)
    return {};
  int64_t lhsDim = dot.getLhsContract()[0], rhsDim = dot.getRhsContract()[0], begin = 0;
  SmallVector<Value> left = findJoined(dot.getLhs(), lhsDim), right = findJoined(dot.getRhs(), rhsDim);
  bool isLeft = left.size() >= right.size();
  SmallVector<Term> terms;
  for (Value value : isLeft ? left : right) {
    int64_t size = net::shapeOf(value)[isLeft ? lhsDim : rhsDim];
    if (size % parts != 0)
      return {};
    terms.push_back(isLeft ? Term{{value, lhsDim, 0, size}, {dot.getRhs(), rhsDim, begin, size}}
                           : Term{{dot.getLhs(), lhsDim, begin, size}, {value, rhsDim, 0, size}});
    begin += size;
  }
  return terms;
}

/// True if the pieces differ in the size of the summed dimension alone.
static bool isAlike(const Piece &a, const Piece &b) {
  auto getKept = [](const Piece &piece) {
    SmallVector<int64_t> shape(net::shapeOf(piece.value));
    shape[piece.dim] = 0;
    return shape;
  };
  return a.dim == b.dim && net::elementTypeOf(a.value) == net::elementTypeOf(b.value) && getKept(a) == getKept(b);
}

/// The pieces, part by part: ... x parts x (parts of all pieces) x ...
Value Joiner::joinPieces(ArrayRef<Piece> pieces, net::NetBuilder &build, Operation *like) const {
  SmallVector<Value> values;
  auto keep = [&](Value value) {
    inherit(value.getDefiningOp(), like, Inherit::Companion);
    return value;
  };
  for (const Piece &piece : pieces) {
    ArrayRef<int64_t> whole = net::shapeOf(piece.value);
    SmallVector<int64_t> starts(whole.size(), 0), limits(whole), steps(whole.size(), 1);
    starts[piece.dim] = piece.begin;
    limits[piece.dim] = piece.begin + piece.size;
    Value value = piece.size == whole[piece.dim] ? piece.value : keep(build.slice(piece.value, starts, limits, steps));
    SmallVector<int64_t> shape(net::shapeOf(value));
    shape[piece.dim] /= parts;
    shape.insert(shape.begin() + piece.dim, parts);
    values.push_back(keep(build.reshape(value, shape)));
  }
  return keep(build.concatenate(values, pieces.front().dim + 1));
}

Value Joiner::join(const Group &group, OpBuilder &builder) const {
  net::DotOp first = group.dots.front();
  net::NetBuilder build(builder, first.getLoc());
  SmallVector<Piece> left, right;
  for (const Term &term : group.terms) {
    left.push_back(term.lhs);
    right.push_back(term.rhs);
  }
  Value lhs = joinPieces(left, build, first), rhs = joinPieces(right, build, first);
  int64_t lhsDim = left.front().dim, rhsDim = right.front().dim;
  Value sum =
      build.dot(lhs, rhs, {}, {}, {lhsDim, lhsDim + 1}, {rhsDim, rhsDim + 1}, net::elementTypeOf(first.getResult()));
  inherit(sum.getDefiningOp(), first, Inherit::Companion);
  return sum;
}

/// Joins the products of each block among the addends of `root`, which is replaced.
void Joiner::joinSum(net::AddOp root) {
  if (becomesGradient(root))
    return;
  SmallVector<Value> rest;
  llvm::MapVector<StringRef, SmallVector<Group>> blocks;
  for (Value addend : findAddends(root)) {
    auto dot = addend.getDefiningOp<net::DotOp>();
    SmallVector<Term> terms;
    if (dot && addend.hasOneUse() && !net::kNameAttr.get(dot))
      terms = findTerms(dot);
    if (terms.empty()) {
      rest.push_back(addend);
      continue;
    }
    auto scope = net::kScopeAttr.get(dot);
    SmallVector<Group> &groups = blocks[findBlock(scope ? scope.getValue() : StringRef())];
    Group *group = llvm::find_if(groups, [&](const Group &other) {
      return isAlike(other.terms.front().lhs, terms.front().lhs) && isAlike(other.terms.front().rhs, terms.front().rhs);
    });
    if (group == groups.end())
      group = &groups.emplace_back();
    group->dots.push_back(dot);
    group->terms.append(terms);
  }
  bool joins = false;
  SmallVector<Value> sums;
  OpBuilder builder(root);
  for (auto &[block, groups] : blocks)
    for (const Group &group : groups) {
      if (group.dots.size() == 1) {
        net::DotOp only = group.dots.front();
        rest.push_back(only);
        continue;
      }
      sums.push_back(join(group, builder));
      joins = true;
    }
  if (!joins)
    return;
  net::NetBuilder build(builder, root.getLoc());
  sums.append(rest);
  Value sum = sums.front();
  for (Value addend : llvm::drop_begin(sums)) {
    sum = build.add(sum, addend);
    inherit(sum.getDefiningOp(), root, Inherit::Companion);
  }
  if (sums.size() == 1)
    sum.getDefiningOp()->setLoc(root.getLoc());
  inherit(sum.getDefiningOp(), root, Inherit::Replacement);
  root.getResult().replaceAllUsesWith(sum);
  SmallVector<Operation *> unused = {root};
  while (!unused.empty()) {
    Operation *op = unused.pop_back_val();
    SmallVector<Value> operands(op->getOperands());
    op->erase();
    for (Value operand : operands)
      if (Operation *def = operand.getDefiningOp(); def && isOpTriviallyDead(def) && !llvm::is_contained(unused, def))
        unused.push_back(def);
  }
}

/// Sorts the terms of a product over cotangents side by side into parts.
void Joiner::joinFused(net::DotOp dot) {
  SmallVector<Term> terms = findTerms(dot);
  if (terms.size() < 2 || becomesGradient(dot))
    return;
  OpBuilder builder(dot);
  Value sum = join({{dot}, terms}, builder);
  inherit(sum.getDefiningOp(), dot, Inherit::Replacement);
  dot.getResult().replaceAllUsesWith(sum);
  dot.erase();
}

void train::joinProducts(func::FuncOp func, int64_t parts) {
  Joiner joiner(parts);
  SmallVector<net::AddOp> roots;
  func.walk([&](net::AddOp add) {
    bool isAddend = add.getResult().hasOneUse() && isa<net::AddOp>(*add->user_begin());
    if (net::isFloat(add.getResult()) && !isAddend)
      roots.push_back(add);
  });
  for (net::AddOp root : roots)
    joiner.joinSum(root);
  for (auto dot : findOfFloats<net::DotOp>(func))
    joiner.joinFused(dot);
}
