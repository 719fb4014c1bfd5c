//===- LinearForm.h - indices as linear forms of loop variables -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every index that a kernel computes with is a linear form over variables of known extent. A reshape divides such
// forms; if the division is exact, the result is linear again, so that a reshape, transpose, slice or broadcast only
// changes coefficients. A quotient that is not linear becomes a variable of its own.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_KERNELS_LINEARFORM_H
#define MESHWRIGHT_KERNELS_LINEARFORM_H

#include "mlir/IR/AffineExpr.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace meshwright::schedule {

/// constant + sum of coefficient · variable, the variables ascending and no coefficient zero.
struct LinearForm {
  int64_t constant = 0;
  llvm::SmallVector<std::pair<unsigned, int64_t>, 4> terms;

  LinearForm(int64_t constant = 0) : constant(constant) {}
  static LinearForm variable(unsigned index) {
    LinearForm form;
    form.terms.push_back({index, 1});
    return form;
  }

  bool isConstant() const { return terms.empty(); }
  int64_t getCoefficient(unsigned variable) const;
  bool uses(unsigned variable) const { return getCoefficient(variable) != 0; }

  LinearForm operator+(const LinearForm &other) const;
  LinearForm operator*(int64_t factor) const;
  bool operator==(const LinearForm &other) const { return constant == other.constant && terms == other.terms; }
  bool operator!=(const LinearForm &other) const { return !(*this == other); }
};

/// The variables of a kernel: loops, quotients and remainders that are not linear, and values known only when it runs.
class Variables {
public:
  enum Kind { Loop, Quotient, Remainder, Computed };
  struct Variable {
    Kind kind;
    /// Values are in [0, extent); -1 if the range is unknown.
    int64_t extent;
    /// Quotients and remainders only: the dividend and the divisor.
    LinearForm base;
    int64_t divisor = 1;
  };

  unsigned add(Kind kind, int64_t extent);
  const Variable &operator[](unsigned index) const { return variables[index]; }
  unsigned size() const { return variables.size(); }
  /// Extends the loop `inner` to run through `outer` as well; the caller has to drop `outer` from its forms.
  void join(unsigned outer, unsigned inner);

  /// True if `form` uses loops only; quotients and remainders change along loops that they do not name.
  bool isOfLoops(const LinearForm &form) const;
  /// True if the value of `variable` may change along `loop`. Computed values may change along every loop.
  bool isAlong(unsigned variable, unsigned loop) const;
  /// Values of variables, each from the first number to before the second.
  using Ranges = llvm::DenseMap<unsigned, std::pair<int64_t, int64_t>>;
  /// The least and the greatest value of `form` while the variables in `narrowed` are in these ranges; nullopt if a
  /// variable's range is unknown.
  std::optional<std::pair<int64_t, int64_t>> getRange(const LinearForm &form, const Ranges &narrowed = Ranges()) const;
  LinearForm floorDiv(const LinearForm &form, int64_t divisor);
  LinearForm mod(const LinearForm &form, int64_t divisor);
  /// `expr` with `dims` in place of its dimensions.
  LinearForm evaluate(mlir::AffineExpr expr, llvm::ArrayRef<LinearForm> dims);

  /// The row-major position of `indices` in `shape`; recombines the quotient and the remainder of a reshape.
  LinearForm linearize(llvm::ArrayRef<LinearForm> indices, llvm::ArrayRef<int64_t> shape);
  /// The indices into `shape` of a row-major position.
  llvm::SmallVector<LinearForm> delinearize(const LinearForm &position, llvm::ArrayRef<int64_t> shape);

private:
  LinearForm simplify(LinearForm form);
  int64_t findGrain(const LinearForm &form, int64_t divisor) const;
  unsigned intern(Kind kind, const LinearForm &base, int64_t divisor, int64_t extent);

  llvm::SmallVector<Variable> variables;
};

} // namespace meshwright::schedule

#endif
