//===- Writer.h - writes operations of StableHLO as text --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// StableHLO's dialect is not linked: what is exported is text, in the short forms that JAX prints. A *term* is a value
// of that text.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_EXPORT_WRITER_H
#define MESHWRIGHT_EXPORT_WRITER_H

#include "dialects/Common/ReduceKind.h"
#include "dialects/Dist/Mesh.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OpDefinition.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/raw_ostream.h"
#include <string>

namespace meshwright::exporter {

/// How ranks are told apart: as partitions of one program (a manual region in a global module), or as replicas.
enum class ModuleForm : int { Manual, Replicas };

/// A value of the text: its name and its type.
struct Term {
  std::string name;
  mlir::RankedTensorType type;

  mlir::Type getElementType() const { return type.getElementType(); }
  llvm::ArrayRef<int64_t> getShape() const { return type.getShape(); }
};

/// Writes the operations of one function. A term is defined once, and used below in the same region or in regions
/// inside.
class Writer {
public:
  Writer(const dist::Mesh &mesh, ModuleForm form, llvm::raw_ostream &out) : mesh(mesh), form(form), out(out) {}

  const dist::Mesh &getMesh() const { return mesh; }
  ModuleForm getForm() const { return form; }

  //===--------------------------------------------------------------------===//
  // Terms of values
  //===--------------------------------------------------------------------===//

  /// The term of a value that was written before.
  Term get(mlir::Value value) const;
  llvm::SmallVector<Term> get(mlir::ValueRange values) const;
  void set(mlir::Value value, Term term) { terms[value] = std::move(term); }
  /// A new name for a term: `%12`.
  std::string makeName() { return "%" + std::to_string(numNames++); }
  Term makeTerm(mlir::Type type) { return {makeName(), llvm::cast<mlir::RankedTensorType>(type)}; }

  //===--------------------------------------------------------------------===//
  // Operations
  //===--------------------------------------------------------------------===//

  /// Writes `name before %a, %b after : types` with one result. The types are `type` alone where all are equal.
  Term op(llvm::StringRef name, llvm::ArrayRef<Term> operands, mlir::RankedTensorType type,
          const llvm::Twine &after = "", const llvm::Twine &before = "");
  /// Writes the generic form with `properties` and an optional region, which `writeRegion` writes.
  llvm::SmallVector<Term> generic(llvm::StringRef name, llvm::ArrayRef<Term> operands, mlir::TypeRange types,
                                  const llvm::Twine &properties,
                                  llvm::ArrayRef<llvm::function_ref<void()>> writeRegions = {});

  Term constant(mlir::ElementsAttr value);
  /// A scalar.
  Term constant(mlir::TypedAttr value);
  /// A scalar integer.
  Term integer(mlir::Type element, int64_t value);
  /// A number, in every element of `shape`.
  Term splat(mlir::Type element, double value, llvm::ArrayRef<int64_t> shape);
  Term iota(mlir::Type element, llvm::ArrayRef<int64_t> shape, int64_t dim);
  Term reshape(const Term &term, llvm::ArrayRef<int64_t> shape);
  Term transpose(const Term &term, llvm::ArrayRef<int64_t> permutation);
  Term broadcast(const Term &term, llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> dims);
  Term convert(const Term &term, mlir::Type element);
  /// Compares by the order of the element type: `LT`, `EQ`, …; floats in total order if `isTotal`.
  Term compare(llvm::StringRef direction, const Term &lhs, const Term &rhs, bool isTotal = false);
  Term select(const Term &predicate, const Term &onTrue, const Term &onFalse);
  /// The same values, which nothing that depends on only some of them is computed before: `optimization_barrier`.
  llvm::SmallVector<Term> barrier(llvm::ArrayRef<Term> terms);
  Term binary(llvm::StringRef name, const Term &lhs, const Term &rhs) { return op(name, {lhs, rhs}, lhs.type); }

  /// The operation that combines two elements: `stablehlo.add`.
  static llvm::StringRef getCombiner(ReduceKind kind);
  /// Writes the region of a reduction of scalars of `element`, in braces.
  void writeReducer(llvm::StringRef combiner, mlir::Type element);
  /// Writes a region in braces: its arguments of `types` with new names, what `body` writes, and the return of the
  /// terms that it returns.
  void writeBlock(mlir::TypeRange types, llvm::function_ref<llvm::SmallVector<Term>(llvm::ArrayRef<Term>)> body,
                  llvm::StringRef end = "stablehlo.return");
  /// Writes a `stablehlo.while` of `count` iterations, whose index of `indexType` counts up from 0, or down to 0 if
  /// `isReverse`. `writeBody` gets the index and the values that pass from one iteration to the next, which begin as
  /// `inits`, and returns the next ones. Returns the last ones; fails if `writeBody` does.
  mlir::FailureOr<llvm::SmallVector<Term>>
  writeLoop(mlir::RankedTensorType indexType, int64_t count, bool isReverse, llvm::ArrayRef<Term> inits,
            llvm::function_ref<mlir::FailureOr<llvm::SmallVector<Term>>(const Term &, llvm::ArrayRef<Term>)> writeBody);

  //===--------------------------------------------------------------------===//
  // Ranks
  //===--------------------------------------------------------------------===//

  /// Writes the coordinates of the rank on `axes`, from its number.
  void writeCoordinates(llvm::ArrayRef<dist::Axis> axes, mlir::MLIRContext *context);
  /// Sets the coordinate on an axis of times.
  void setCoordinate(dist::Axis axis, Term coordinate) { coordinates[axis] = std::move(coordinate); }
  /// The coordinate of the rank or the time on an axis, an i32 scalar that was written before.
  Term coordinate(dist::Axis axis) const { return coordinates.lookup(axis); }
  /// The groups of ranks along `axes`, as `dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>`. Members are in the order of
  /// their coordinates, the first axis slowest, but member `first` comes first.
  std::string getGroups(llvm::ArrayRef<dist::Axis> axes, int64_t first = 0) const;
  /// The pairs of the ranks that are members `from` and `to` of each group, in the same form.
  std::string getPairs(llvm::ArrayRef<dist::Axis> axes, int64_t from, int64_t to) const;
  /// The number of a new channel.
  int64_t makeChannel() { return ++numChannels; }

  //===--------------------------------------------------------------------===//
  // Text
  //===--------------------------------------------------------------------===//

  /// Begins a line.
  llvm::raw_ostream &line() { return out.indent(2 * depth); }
  llvm::raw_ostream &text() { return out; }
  /// Ends a line with the location of the operation that is being written.
  void endLine();
  void indent() { ++depth; }
  void outdent() { --depth; }
  /// The location of the operations from here on, as a path of scopes; empty for none.
  void setLocation(std::string path) { location = std::move(path); }
  /// Writes the aliases of all locations that were used.
  void writeLocations();

private:
  llvm::SmallVector<llvm::SmallVector<int64_t>> findGroups(llvm::ArrayRef<dist::Axis> axes) const;

  dist::Mesh mesh;
  ModuleForm form;
  llvm::raw_ostream &out;
  llvm::DenseMap<mlir::Value, Term> terms;
  llvm::DenseMap<dist::Axis, Term> coordinates;
  llvm::MapVector<std::string, unsigned, llvm::StringMap<unsigned>> locations;
  std::string location;
  unsigned depth = 0;
  int64_t numNames = 0, numChannels = 0;
};

/// `text` of what `<<` prints.
template <typename T> std::string toText(const T &value) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << value;
  return text;
}

/// `[0, 1]`
std::string list(llvm::ArrayRef<int64_t> numbers);
/// `array<i64: 0, 1>`
std::string array(llvm::ArrayRef<int64_t> numbers);

} // namespace meshwright::exporter

#include "lib/Export/Form.h.inc"

namespace meshwright::exporter {

/// Gives operations of `OpT` the form that `write` writes.
template <typename OpT, llvm::SmallVector<Term> (*write)(OpT, Writer &)>
struct FormModel : StableHLOFormInterface::ExternalModel<FormModel<OpT, write>, OpT> {
  mlir::FailureOr<llvm::SmallVector<Term>> writeStableHLO(mlir::Operation *op, Writer &writer) const {
    return write(llvm::cast<OpT>(op), writer);
  }
};

template <typename OpT, llvm::SmallVector<Term> (*write)(OpT, Writer &)> void attachForm(mlir::MLIRContext *context) {
  OpT::template attachInterface<FormModel<OpT, write>>(*context);
}

} // namespace meshwright::exporter

#endif
