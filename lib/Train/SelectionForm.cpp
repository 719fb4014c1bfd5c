//===- SelectionForm.cpp - tensors as sums of selected products -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A form is normal if no label that a position fixes occurs outside of its own selection. Then a sum along such a label
// is gone, every other factor is a gather, and the selections that are left say where a scatter adds.
//
//===----------------------------------------------------------------------===//

#include "SelectionForm.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::train;

bool Form::isSparse() const {
  return !terms.empty() && llvm::none_of(terms, [](const Term &term) { return term.selections.empty(); });
}

Label Labels::add(int64_t size) {
  sizes.push_back(size);
  return sizes.size() - 1;
}

LabelList Labels::add(ArrayRef<int64_t> shape) {
  return llvm::map_to_vector<4>(shape, [&](int64_t size) { return add(size); });
}

uint64_t Labels::count(ArrayRef<Label> list) const {
  uint64_t product = 1;
  for (Label label : list)
    product = llvm::SaturatingMultiply<uint64_t>(product, sizes[label]);
  return product;
}

//===----------------------------------------------------------------------===//
// Labels of factors
//===----------------------------------------------------------------------===//

/// Calls `visit` for every label in the coordinates of `factor`.
static void forEachLabel(const Factor &factor, llvm::function_ref<void(Label)> visit) {
  for (const Coordinate &coordinate : factor.at)
    if (coordinate.index)
      forEachLabel(*coordinate.index, visit);
    else
      visit(coordinate.label);
}

static bool mentions(const Factor &factor, Label label) {
  bool found = false;
  forEachLabel(factor, [&](Label other) { found |= other == label; });
  return found;
}

static void addNew(LabelList &list, Label label) {
  if (!llvm::is_contained(list, label))
    list.push_back(label);
}

LabelList train::collectLabels(const Factor &factor) {
  LabelList list;
  forEachLabel(factor, [&](Label label) { addNew(list, label); });
  return list;
}

/// Replaces every coordinate that is a label by what `replace` returns for it.
static void mapLabels(Factor &factor, llvm::function_ref<Coordinate(Label)> replace) {
  for (Coordinate &coordinate : factor.at) {
    if (!coordinate.index) {
      coordinate = replace(coordinate.label);
      continue;
    }
    auto index = std::make_shared<Factor>(*coordinate.index);
    mapLabels(*index, replace);
    coordinate.index = index;
  }
}

Form Labels::rename(const Form &form, ArrayRef<Label> dims) {
  Form renamed = form;
  renamed.dims.assign(dims.begin(), dims.end());
  for (Term &term : renamed.terms) {
    llvm::SmallDenseMap<Label, Label> names;
    for (auto [from, to] : llvm::zip_equal(form.dims, dims))
      names[from] = to;
    for (Label &sum : term.sums)
      sum = names[sum] = add(getSize(sum));
    auto replace = [&](Label label) { return Coordinate{names.at(label), nullptr}; };
    for (Factor &factor : term.factors)
      mapLabels(factor, replace);
    for (Factor &condition : term.conditions)
      mapLabels(condition, replace);
    for (Selection &selection : term.selections) {
      selection.label = names.at(selection.label);
      mapLabels(selection.index, replace);
    }
  }
  return renamed;
}

Factor train::makeFactor(Value value, ArrayRef<Label> labels) {
  LabelList at(labels);
  while (Operation *op = value.getDefiningOp()) {
    LabelList inner;
    if (auto broadcast = dyn_cast<net::BroadcastOp>(op)) {
      for (int64_t dim : broadcast.getDims())
        inner.push_back(at[dim]);
    } else if (auto transpose = dyn_cast<net::TransposeOp>(op)) {
      inner.resize(at.size());
      for (auto [dim, from] : llvm::enumerate(transpose.getPermutation()))
        inner[from] = at[dim];
    } else if (auto reshape = dyn_cast<net::ReshapeOp>(op)) {
      // Only dimensions of size 1 come with it.
      ArrayRef<int64_t> from = net::shapeOf(reshape.getOperand()), to = net::shapeOf(reshape.getResult());
      size_t next = 0;
      for (int64_t size : from) {
        while (next < to.size() && to[next] == 1 && size != 1)
          ++next;
        if (next == to.size() || to[next] != size)
          break;
        inner.push_back(at[next++]);
      }
      if (inner.size() != from.size() || llvm::any_of(to.drop_front(next), [](int64_t size) { return size != 1; }))
        break;
    } else {
      break;
    }
    at = inner;
    value = op->getOperand(0);
  }
  Factor factor{value, {}};
  for (Label label : at)
    factor.at.push_back({label, nullptr});
  return factor;
}

Term train::multiply(const Term &lhs, const Term &rhs) {
  Term product = lhs;
  llvm::append_range(product.sums, rhs.sums);
  llvm::append_range(product.factors, rhs.factors);
  llvm::append_range(product.conditions, rhs.conditions);
  llvm::append_range(product.selections, rhs.selections);
  return product;
}

//===----------------------------------------------------------------------===//
// Normal form
//===----------------------------------------------------------------------===//

bool FormBuilder::normalize(Form &form) {
  return llvm::all_of(form.terms, [&](Term &term) { return normalize(term, form.dims); });
}

bool FormBuilder::normalize(Term &term, ArrayRef<Label> dims) {
  // One selection of a label stays; the others become the condition that positions are equal.
  for (size_t first = 0; first < term.selections.size(); ++first)
    for (size_t second = term.selections.size() - 1; second > first; --second) {
      if (term.selections[second].label != term.selections[first].label)
        continue;
      Labelled lhs = read(term.selections[first].index), rhs = read(term.selections[second].index);
      LabelList space = lhs.labels;
      for (Label label : rhs.labels)
        addNew(space, label);
      Value x = spread(lhs, space), y = spread(rhs, space);
      Type wide = build.builder.getI64Type();
      Value equal = build.compare(net::CompareDirection::Eq, build.convert(x, wide), build.convert(y, wide));
      term.conditions.push_back(makeFactor(equal, space));
      term.selections.erase(term.selections.begin() + second);
    }

  // A position may mention labels that have positions themselves: as many rounds as selections replace all.
  for (size_t round = 0, last = term.selections.size(); round <= last; ++round) {
    bool changes = false;
    for (size_t i = 0; i < term.selections.size(); ++i) {
      Selection selection = term.selections[i];
      if (mentions(selection.index, selection.label))
        return false;
      auto index = std::make_shared<const Factor>(selection.index);
      auto replaceIn = [&](Factor &factor) {
        if (!mentions(factor, selection.label))
          return;
        changes = true;
        mapLabels(factor, [&](Label label) {
          return label == selection.label ? Coordinate{0, index} : Coordinate{label, nullptr};
        });
      };
      llvm::for_each(term.factors, replaceIn);
      llvm::for_each(term.conditions, replaceIn);
      for (auto [other, each] : llvm::enumerate(term.selections))
        if (other != i)
          replaceIn(each.index);
    }
    if (!changes)
      break;
    if (round == last)
      return false;
  }
  auto isSummed = [&](Label label) { return !llvm::is_contained(dims, label); };
  llvm::erase_if(term.sums, [&](Label sum) {
    return llvm::any_of(term.selections, [&](const Selection &selection) { return selection.label == sum; });
  });
  llvm::erase_if(term.selections, [&](const Selection &selection) { return isSummed(selection.label); });

  // A sum along a label that nothing depends on would be a multiple.
  auto occurs = [&](Label label) {
    auto isIn = [&](const Factor &factor) { return mentions(factor, label); };
    return llvm::any_of(term.factors, isIn) || llvm::any_of(term.conditions, isIn) ||
           llvm::any_of(term.selections, [&](const Selection &selection) { return isIn(selection.index); });
  };
  return llvm::all_of(term.sums, [&](Label sum) { return labels.getSize(sum) == 1 || occurs(sum); });
}

//===----------------------------------------------------------------------===//
// Computation
//===----------------------------------------------------------------------===//

Value FormBuilder::spread(const Labelled &tensor, ArrayRef<Label> space) {
  SmallVector<int64_t> order, dims, shape;
  for (auto [place, label] : llvm::enumerate(space)) {
    shape.push_back(labels.getSize(label));
    const Label *found = llvm::find(tensor.labels, label);
    if (found == tensor.labels.end())
      continue;
    order.push_back(found - tensor.labels.begin());
    dims.push_back(static_cast<int64_t>(place));
  }
  assert(order.size() == tensor.labels.size() && "the space has all labels of the tensor");
  return build.broadcast(build.transpose(tensor.value, order), shape, dims);
}

template <typename OpT> FormBuilder::Labelled FormBuilder::combine(const Labelled &lhs, const Labelled &rhs) {
  // Labels of the larger tensor keep their order.
  bool isLeftLarger = labels.count(lhs.labels) >= labels.count(rhs.labels);
  LabelList space = isLeftLarger ? lhs.labels : rhs.labels;
  for (Label label : isLeftLarger ? rhs.labels : lhs.labels)
    addNew(space, label);
  return {build.binary<OpT>(spread(lhs, space), spread(rhs, space)), space};
}

Factor FormBuilder::moveWindowsLast(const Factor &factor) {
  SmallVector<int64_t> order, windows;
  LabelList batch;
  for (const Coordinate &coordinate : factor.at)
    if (coordinate.index)
      for (Label label : collectLabels(*coordinate.index))
        addNew(batch, label);
  for (auto [dim, coordinate] : llvm::enumerate(factor.at)) {
    bool isWindow = !coordinate.index && !llvm::is_contained(batch, coordinate.label);
    (isWindow ? windows : order).push_back(static_cast<int64_t>(dim));
  }
  if (windows.empty() || windows.back() == static_cast<int64_t>(factor.at.size()) - 1)
    return factor;
  llvm::append_range(order, windows);
  Factor moved;
  for (int64_t dim : order)
    moved.at.push_back(factor.at[dim]);
  // A product has its dimensions in the other order if its operands change places.
  if (auto dot = factor.value.getDefiningOp<net::DotOp>(); dot && dot->hasOneUse()) {
    int64_t numBatch = dot.getLhsBatch().size(), numLeft = dot.getLhsFree().size(), rank = factor.at.size();
    SmallVector<int64_t> exchanged;
    for (int64_t dim = 0; dim < rank; ++dim)
      if (dim < numBatch || dim >= numBatch + numLeft)
        exchanged.push_back(dim);
    for (int64_t dim = numBatch; dim < numBatch + numLeft; ++dim)
      exchanged.push_back(dim);
    if (exchanged == order) {
      moved.value = build.dot(dot.getRhs(), dot.getLhs(), dot.getRhsBatch(), dot.getLhsBatch(), dot.getRhsContract(),
                              dot.getLhsContract(), net::elementTypeOf(dot.getResult()));
      return moved;
    }
  }
  moved.value = build.transpose(factor.value, order);
  return moved;
}

FormBuilder::Labelled FormBuilder::makeIndices(ArrayRef<const Factor *> components, ArrayRef<Label> leading) {
  SmallVector<Labelled> parts = llvm::map_to_vector(components, [&](const Factor *part) { return read(*part); });
  LabelList space(leading);
  unsigned width = 0;
  for (const Labelled &part : parts) {
    width = std::max(width, net::elementTypeOf(part.value).getIntOrFloatBitWidth());
    for (Label label : part.labels)
      addNew(space, label);
  }
  SmallVector<Value> columns;
  for (const Labelled &part : parts) {
    Value column = build.convert(spread(part, space), build.builder.getIntegerType(width));
    SmallVector<int64_t> shape(net::shapeOf(column));
    shape.push_back(1);
    columns.push_back(build.reshape(column, shape));
  }
  Value vectors = columns.size() == 1 ? columns.front() : build.concatenate(columns, space.size());
  return {vectors, space};
}

FormBuilder::Labelled FormBuilder::read(const Factor &factor) {
  // All elements of such a constant are read alike.
  if (auto constant = factor.value.getDefiningOp<net::ConstantOp>(); constant && constant.getValue().isSplat()) {
    LabelList space = collectLabels(factor);
    auto shape = llvm::map_to_vector(space, [&](Label label) { return labels.getSize(label); });
    auto type = net::typeOf(factor.value).clone(shape);
    auto splat = cast<DenseElementsAttr>(constant.getValue()).resizeSplat(type);
    return {net::ConstantOp::create(build.builder, build.location, type, splat), space};
  }
  SmallVector<const Factor *> components;
  LabelList batch;
  for (const Coordinate &coordinate : factor.at)
    if (coordinate.index) {
      components.push_back(coordinate.index.get());
      for (Label label : collectLabels(*coordinate.index))
        addNew(batch, label);
    }
  if (components.empty())
    return {factor.value, collectLabels(factor)};

  Factor moved = moveWindowsLast(factor);
  LabelList shared, windows;
  SmallVector<int64_t> operandBatching, collapsed, sizes;
  for (auto [dim, coordinate] : llvm::enumerate(moved.at)) {
    bool isShared = !coordinate.index && llvm::is_contained(batch, coordinate.label);
    bool isWindow = !coordinate.index && !isShared;
    sizes.push_back(isWindow ? labels.getSize(coordinate.label) : 1);
    if (isWindow) {
      windows.push_back(coordinate.label);
    } else if (isShared) {
      shared.push_back(coordinate.label);
      operandBatching.push_back(static_cast<int64_t>(dim));
    } else {
      collapsed.push_back(static_cast<int64_t>(dim));
    }
  }
  Labelled indices = makeIndices(components, shared);
  SmallVector<int64_t> indicesBatching, offsets, shape;
  for (int64_t dim = 0, count = shared.size(); dim < count; ++dim)
    indicesBatching.push_back(dim);
  LabelList result = indices.labels;
  for (Label window : windows) {
    offsets.push_back(static_cast<int64_t>(result.size()));
    result.push_back(window);
  }
  for (Label label : result)
    shape.push_back(labels.getSize(label));
  auto dims = net::GatherDimsAttr::get(build.builder.getContext(), offsets, collapsed, operandBatching, indicesBatching,
                                       /*startIndexMap=*/collapsed, static_cast<int64_t>(indices.labels.size()));
  Value value = net::GatherOp::create(build.builder, build.location, net::typeOf(moved.value).clone(shape), moved.value,
                                      indices.value, dims, sizes);
  return {value, result};
}

FormBuilder::Labelled FormBuilder::multiplyOut(const Term &term, Type type) {
  SmallVector<Labelled> parts;
  for (const Factor &factor : term.factors) {
    Labelled part = read(factor);
    parts.push_back({build.convert(part.value, type), part.labels});
  }
  // Small tensors first, so that large ones are read once.
  llvm::stable_sort(parts, [&](const Labelled &lhs, const Labelled &rhs) {
    return labels.count(lhs.labels) < labels.count(rhs.labels);
  });
  std::optional<Labelled> product, condition;
  for (const Labelled &part : parts)
    product = product ? combine<net::MultiplyOp>(*product, part) : part;
  for (const Factor &factor : term.conditions) {
    Labelled part = read(factor);
    condition = condition ? combine<net::AndOp>(*condition, part) : part;
  }
  auto constant = [&](double number) { return build.splat(RankedTensorType::get({}, type), number); };
  if (!product && !condition)
    return {constant(1), {}};
  if (!product)
    return {build.convert(condition->value, type), condition->labels};
  if (condition) {
    // Hidden elements may be infinite or no numbers.
    LabelList space = product->labels;
    for (Label label : condition->labels)
      addNew(space, label);
    Value kept = spread(*product, space);
    product = Labelled{build.select(spread(*condition, space), kept, build.splatLike(kept, 0)), space};
  }
  return *product;
}

/// Sums `tensor` along those of its labels that are in `sums`.
static void sumAlong(net::NetBuilder &build, Value &value, LabelList &of, llvm::function_ref<bool(Label)> isSummed) {
  SmallVector<int64_t> dims;
  LabelList rest;
  for (auto [dim, label] : llvm::enumerate(of))
    if (isSummed(label))
      dims.push_back(static_cast<int64_t>(dim));
    else
      rest.push_back(label);
  value = build.reduce(ReduceKind::Sum, value, dims);
  of = rest;
}

Value FormBuilder::scatter(const Term &term, Labelled product, ArrayRef<Label> dims, Value into) {
  SmallVector<const Factor *> components;
  LabelList chosen, batch, shared, windows;
  // Components in the order of the dimensions that they choose from.
  for (Label dim : dims)
    for (const Selection &selection : term.selections)
      if (selection.label == dim) {
        components.push_back(&selection.index);
        chosen.push_back(dim);
        for (Label label : collectLabels(selection.index))
          addNew(batch, label);
      }
  for (Label dim : dims)
    if (llvm::is_contained(batch, dim))
      shared.push_back(dim);
    else if (!llvm::is_contained(chosen, dim))
      windows.push_back(dim);
  Labelled indices = makeIndices(components, shared);
  sumAlong(build, product.value, product.labels, [&](Label label) {
    return llvm::is_contained(term.sums, label) && !llvm::is_contained(indices.labels, label);
  });

  LabelList updates = indices.labels, order = shared;
  llvm::append_range(updates, windows);
  llvm::append_range(order, chosen);
  llvm::append_range(order, windows);
  SmallVector<int64_t> updateWindows, inserted, operandBatching, indicesBatching, shape, permutation;
  for (int64_t dim = indices.labels.size(), end = updates.size(); dim < end; ++dim)
    updateWindows.push_back(dim);
  for (int64_t dim = 0, count = shared.size(); dim < count; ++dim) {
    operandBatching.push_back(dim);
    indicesBatching.push_back(dim);
  }
  for (int64_t dim = shared.size(), end = shared.size() + chosen.size(); dim < end; ++dim)
    inserted.push_back(dim);
  for (Label label : order)
    shape.push_back(labels.getSize(label));
  for (Label dim : dims)
    permutation.push_back(llvm::find(order, dim) - order.begin());

  Value from = spread(product, updates);
  Value operand = build.splat(net::typeOf(from).clone(shape), 0);
  if (into)
    operand = build.transpose(into, llvm::map_to_vector(order, [&](Label label) -> int64_t {
                                return llvm::find(dims, label) - dims.begin();
                              }));
  auto attribute =
      net::ScatterDimsAttr::get(build.builder.getContext(), updateWindows, inserted, operandBatching, indicesBatching,
                                /*scatterDimsToOperandDims=*/inserted, static_cast<int64_t>(indices.labels.size()));
  Value result = net::ScatterOp::create(build.builder, build.location, operand.getType(), net::ScatterKind::Add,
                                        operand, indices.value, from, attribute);
  return build.transpose(result, permutation);
}

Value FormBuilder::compute(const Form &form, RankedTensorType type, Type accumulator) {
  Value total;
  for (const Term &term : form.terms) {
    Labelled product = multiplyOut(term, accumulator);
    if (!term.selections.empty()) {
      total = scatter(term, product, form.dims, total);
      continue;
    }
    sumAlong(build, product.value, product.labels, [&](Label label) { return llvm::is_contained(term.sums, label); });
    Value part = spread(product, form.dims);
    total = total ? build.add(total, part) : part;
  }
  return build.convert(total, type.getElementType());
}
