//===- Access.h - bytes that an instruction reads and writes ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_VERIFY_LIB_ACCESS_H
#define MESHWRIGHT_VERIFY_LIB_ACCESS_H

#include "package.pb.h"
#include <cstdint>
#include <string>
#include <vector>

namespace meshwright::verify {

/// Bytes from `begin` to before `end`.
struct Range {
  uint64_t begin = 0, end = 0;
  bool isEmpty() const { return begin == end; }
  bool overlaps(const Range &other) const { return begin < other.end && other.begin < end; }
  bool contains(const Range &other) const { return begin <= other.begin && other.end <= end; }
  bool operator==(const Range &) const = default;
};

/// Bytes of a buffer that an instruction reads or writes: one range, or runs of equal length within it.
struct Access {
  struct Dim {
    uint64_t count, stride; ///< in bytes
  };
  uint32_t buffer;
  bool isWrite;
  Range bytes; ///< from the beginning of the buffer
  /// If the access leaves out bytes of the range: the dimensions over which runs repeat, and the bytes of a run.
  std::vector<Dim> dims = {};
  uint64_t run = 0;

  uint64_t countRuns() const;
  /// Calls fn(range) for every run, in ascending order where the dimensions are nested.
  template <typename Fn> void forEachRun(Fn &&fn) const { visit(0, bytes.begin, fn); }

private:
  template <typename Fn> void visit(size_t dim, uint64_t at, Fn &fn) const {
    if (dims.empty())
      return fn(bytes);
    if (dim == dims.size())
      return fn(Range{at, at + run});
    for (uint64_t i = 0; i != dims[dim].count; ++i)
      visit(dim + 1, at + i * dims[dim].stride, fn);
  }
};

/// The bytes of an element; 0 of an unknown type.
uint64_t getElementBytes(DType type);
/// The bytes of an array; false where they cannot be counted.
bool countBytes(const google::protobuf::RepeatedField<int64_t> &shape, DType type, uint64_t &bytes);

/// Return true if members bring operands to be reduced, and if one member is the root.
bool isReducing(Collective::Kind kind);
bool isRooted(Collective::Kind kind);
/// As in output: `all_reduce`.
std::string getName(Collective::Kind kind);

/// Lists what an instruction of a program reads and then what it writes, as the package states it. The buffers exist
/// and their arrays can be counted. `members` is the number of a collective's. Returns an error, or an empty text.
std::string listAccesses(const Program &program, const Instruction &instruction, uint64_t members,
                         std::vector<Access> &accesses);

/// Calls fn(buffer) for every buffer that an instruction names.
template <typename Fn> void forEachBuffer(const Instruction &instruction, Fn &&fn) {
  for (uint32_t argument : instruction.kernel().arguments())
    fn(argument);
  if (instruction.has_matmul()) {
    const Matmul &matmul = instruction.matmul();
    for (uint32_t buffer : {matmul.lhs(), matmul.rhs(), matmul.out()})
      fn(buffer);
    if (matmul.epilogue().has_bias())
      fn(matmul.epilogue().bias());
    if (matmul.epilogue().has_preactivation())
      fn(matmul.epilogue().preactivation());
    if (matmul.has_epilogue())
      fn(matmul.epilogue().out());
  }
  if (instruction.has_convolution())
    for (uint32_t buffer :
         {instruction.convolution().lhs(), instruction.convolution().rhs(), instruction.convolution().out()})
      fn(buffer);
  for (const CollectivePart &part : instruction.collective().parts()) {
    if (part.has_in())
      fn(part.in());
    if (part.has_out())
      fn(part.out());
  }
  if (instruction.has_copy()) {
    fn(instruction.copy().from());
    fn(instruction.copy().to());
  }
  if (instruction.has_coordinate())
    fn(instruction.coordinate().buffer());
  if (instruction.has_micro_batch())
    fn(instruction.micro_batch().buffer());
}

} // namespace meshwright::verify

#endif
