//===- Feeder.h - the inputs of each step -----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_FEEDER_H
#define MESHWRIGHT_RUNTIME_FEEDER_H

#include "meshwright/runtime/Session.h"

namespace meshwright::runtime {

/// The source of an input's batches. The file that they are cut from is raw bytes of `type`, or a .npy or
/// .safetensors file (the tensor of the input's name, or its only one) where no type is given. With a seed there is no
/// file: the input is a key of random numbers.
struct DataSource {
  std::string input;
  std::string path;
  std::optional<DType> type;
  std::optional<uint32_t> seed = std::nullopt;

  /// Parses `NAME=FILE`, `NAME=FILE:dtype` or `NAME=step:SEED`; a file called like the last is `./step:SEED`.
  static Result<DataSource> parse(const std::string &text);
};

/// Gives every input its values, step by step.
///
/// From data: the file's elements in row-major order are cut into consecutive windows. An input of shape [B, ...] takes
/// B windows a step, each as long as the rest of its shape; step t takes windows t*B to t*B + B - 1, counted from the
/// beginning again after the last whole one. A file with fewer than B windows is an error.
///
/// From a seed: step t takes pairs of the seed and t, modulo 2^32, in an input of 2 or 4 elements of u32: a raw key of
/// JAX's for threefry or for its generator of bits.
///
/// From a feed: the tensor of the input's name in a safetensors file, the same for every step, or a file per step where
/// the path has `{step}` in it. Data comes first where both name an input.
///
/// Integers may have another integer type in the file, as long as every value fits; all else is as the package says.
class Feeder {
public:
  /// Checks that every input of the package has a source of the right type and shape. Unless `needsAll`, some may have
  /// none.
  static Result<Feeder> create(const LoadedPackage &package, const std::string &feed,
                               const std::vector<DataSource> &data, bool needsAll = true);
  Feeder(Feeder &&) noexcept;
  Feeder &operator=(Feeder &&) noexcept;
  ~Feeder();

  /// Reads the inputs of a step. Values outside what an input promises are an error with position and value.
  Status load(uint64_t step);
  /// Copies the inputs of the loaded step to a session's ranks.
  void scatter(Session &session) const;
  /// The value of an input in the loaded step; nothing if it has no source.
  std::optional<TensorView> getValue(const std::string &name) const;

private:
  struct Implementation;
  explicit Feeder(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> implementation;
};

/// Copies a whole array to a session's ranks as an input of the next step. Integers may have another integer type, as
/// long as every value fits; a type or shape that does not fit, or a value outside the input's range, is an error.
Status feed(Session &session, size_t input, const TensorView &value);

/// Checks that every element lies in [min, max), as far as they are there. The error names the element and its value.
Status checkRange(const TensorView &values, std::optional<double> min, std::optional<double> max);

} // namespace meshwright::runtime

#endif
