//===- SelectionForm.h - tensors as sums of selected products ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tensor whose elements are mostly zeros, such as a one-hot encoding or the matrix that sends tokens to experts, is a
// sum of few terms at positions which other tensors hold. With one label per index variable, as in an einsum,
//
//   sent[t, e, c] = Σ_k kept[t, k] · [e = expert[t, k]] · [c = seat[t, k]]
//
// Products of such forms are forms, so that sums along e and c become reads at positions.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_TRAIN_SELECTIONFORM_H
#define MESHWRIGHT_LIB_TRAIN_SELECTIONFORM_H

#include "dialects/Net/NetBuilder.h"
#include <memory>

namespace meshwright::train {

/// An index variable, by its number in a `Labels`.
using Label = unsigned;
using LabelList = llvm::SmallVector<Label, 4>;

struct Factor;

/// Where along one dimension a tensor is read: at an index variable, or at the position that `index` holds.
struct Coordinate {
  Label label = 0;
  std::shared_ptr<const Factor> index;
};

/// A tensor, read at one coordinate per dimension. The positions of `index` lie inside the dimension.
struct Factor {
  mlir::Value value;
  llvm::SmallVector<Coordinate, 4> at;
};

/// 1 where `label` equals the position that `index` holds, which lies inside the dimension of `label`; 0 elsewhere.
struct Selection {
  Label label;
  Factor index;
};

/// The sum along `sums` of the product of `factors` and `selections` where all `conditions` (of i1) hold.
struct Term {
  LabelList sums;
  llvm::SmallVector<Factor, 2> factors, conditions;
  llvm::SmallVector<Selection, 2> selections;
};

/// The sum of `terms` as a tensor with one dimension per label of `dims`. A tensor of i1 has one term without sums, and
/// is true where the term is 1.
struct Form {
  LabelList dims;
  llvm::SmallVector<Term, 1> terms;

  /// True if every term selects.
  bool isSparse() const;
};

/// The sizes of index variables.
class Labels {
public:
  Label add(int64_t size);
  LabelList add(llvm::ArrayRef<int64_t> sizes);
  int64_t getSize(Label label) const { return sizes[label]; }
  /// The number of combinations of values of `labels`; saturates.
  uint64_t count(llvm::ArrayRef<Label> labels) const;

  /// `form` with the labels `dims` for its dimensions and new ones for its sums.
  Form rename(const Form &form, llvm::ArrayRef<Label> dims);

private:
  llvm::SmallVector<int64_t, 0> sizes;
};

/// Reads `value`, whose dimensions run with `labels`, from the smallest tensor that it repeats or permutes.
Factor makeFactor(mlir::Value value, llvm::ArrayRef<Label> labels);

/// The labels that occur in the coordinates of `factor`.
LabelList collectLabels(const Factor &factor);

/// The product of two terms whose labels already agree.
Term multiply(const Term &lhs, const Term &rhs);

/// Operations that compute forms.
class FormBuilder {
public:
  FormBuilder(net::NetBuilder &build, Labels &labels) : build(build), labels(labels) {}

  /// Replaces labels by the positions which selections give them, everywhere but in these selections, and drops the
  /// selections of summed labels. False if two selections depend on each other, or nothing depends on a summed label.
  /// Builds comparisons where two selections share a label.
  bool normalize(Form &form);

  /// The value of a normalized form of `type`. Sums that are left are reductions; selections that are left make
  /// scatters. Products are computed in `accumulator`.
  mlir::Value compute(const Form &form, mlir::RankedTensorType type, mlir::Type accumulator);

private:
  /// A tensor whose dimensions run with labels.
  struct Labelled {
    mlir::Value value;
    LabelList labels;
  };

  bool normalize(Term &term, llvm::ArrayRef<Label> dims);
  Labelled read(const Factor &factor);
  /// `tensor` with its dimensions in the order of `space` and repeated along the others.
  mlir::Value spread(const Labelled &tensor, llvm::ArrayRef<Label> space);
  /// Applies `combine` to two tensors along all labels of both.
  template <typename OpT> Labelled combine(const Labelled &lhs, const Labelled &rhs);
  /// The index vectors of coordinates: one component each, along a last dimension of their own, after `leading` and all
  /// other labels.
  Labelled makeIndices(llvm::ArrayRef<const Factor *> components, llvm::ArrayRef<Label> leading);
  /// The dimensions of `factor` with those that positions index before those that are read whole.
  Factor moveWindowsLast(const Factor &factor);
  /// The sums and products of a term without its selections; of `type` elements.
  Labelled multiplyOut(const Term &term, mlir::Type type);
  /// `product` added to `into` (zeros if null) at the positions of the selections of `term`.
  mlir::Value scatter(const Term &term, Labelled product, llvm::ArrayRef<Label> dims, mlir::Value into);

  net::NetBuilder &build;
  Labels &labels;
};

} // namespace meshwright::train

#endif
