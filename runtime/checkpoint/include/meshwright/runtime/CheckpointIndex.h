//===- CheckpointIndex.h - what is where in a checkpoint --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The index is JSON: of the run its step, data position and seed; of every variable its name, type and shape, the
// digits that split it, and its parts. A digit is its extent and stride, as in a package but without an axis; a part
// says where it is by one coordinate per digit, in their order: a box in the factored shape. So parts are distinct
// where their coordinates are, and complete where their elements are as many as the variable's.
//
// An accumulator may be a sum of addends, each of which has parts of its own: what the coordinates of some axes held.
// Then the parts of every addend are complete.
//
// A reader refuses keys that it does not know: what a later version says of a part cannot be overlooked.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_CHECKPOINTINDEX_H
#define MESHWRIGHT_RUNTIME_CHECKPOINTINDEX_H

#include "meshwright/runtime/Box.h"
#include <optional>
#include <string>

namespace meshwright::runtime {

/// One part of a variable: the tensor of the variable's name in a file, with the part's elements side by side.
struct CheckpointPart {
  /// A safetensors file in the checkpoint's folder.
  std::string file;
  /// The coordinate on every digit of the variable.
  std::vector<int64_t> at;
  /// The checksum of the tensor's bytes.
  uint32_t checksum = 0;
  /// The addend of the variable that the part belongs to.
  uint64_t addend = 0;
};

struct CheckpointVariable {
  struct Digit {
    int64_t extent, stride;
  };

  std::string name;
  /// As the package's schema spells it in lower case; empty if unknown.
  std::string kind;
  DType type = DTYPE_INVALID;
  Shape shape;
  /// For every dimension its digits, major to minor.
  std::vector<std::vector<Digit>> digits;
  std::vector<CheckpointPart> parts;
  /// The variable is the sum of so many.
  uint64_t addends = 1;

  bool isAccumulator() const { return kind == "accumulator"; }
  uint64_t getBytes() const { return *getNumElements(shape) * runtime::getSize(type); }
  /// The digits as a layout over a mesh that has an axis for each.
  Result<Layout> makeLayout() const;
};

/// The state of the run that a checkpoint records.
struct CheckpointState {
  /// Steps that were done.
  uint64_t step = 0;
  /// Batches that were taken from the data.
  uint64_t dataPosition = 0;
  /// The seed of the initializers.
  uint64_t seed = 0;
  /// The variables with elements that are NaN or infinite, and were finite when the run began; nothing where the writer
  /// did not look.
  std::optional<std::vector<std::string>> nonFinite;

  /// True if a run can continue from it: no variable is known to have become NaN or infinite.
  bool isFinite() const { return !nonFinite || nonFinite->empty(); }
};

struct CheckpointIndex : CheckpointState {
  /// Steps that were done since the last update, of so many that an accumulation has: accumulators are there where it
  /// is not 0.
  uint32_t accumulationPosition = 0, accumulationSteps = 1;
  std::vector<CheckpointVariable> variables;

  /// Parses an index that may be hostile. Shapes, types, digits and coordinates are checked, files are not looked at.
  static Result<CheckpointIndex> parse(std::string_view text);
  std::string toJson() const;
  /// The variable of that name; null if there is none.
  const CheckpointVariable *find(const std::string &name) const;
};

} // namespace meshwright::runtime

#endif
