//===- MachineModel.h - what a machine takes for what -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_MACHINEMODEL_H
#define MESHWRIGHT_RUNTIME_MACHINEMODEL_H

#include "meshwright/runtime/LinkModel.h"
#include "package.pb.h"
#include <map>
#include <optional>

namespace meshwright::runtime {

/// The cost of instructions of one kind: a time for the call, one for each byte of memory traffic and one for each
/// operation, in seconds.
struct WorkModel {
  double call = 0, byte = 0, flop = 0;

  double getSeconds(double bytes, double flops) const { return call + byte * bytes + flop * flops; }
  /// The model that comes nearest to measured times: the sum of the squares of their relative errors is smallest, and
  /// nothing is below zero. Of times above 0; zeros where there is none.
  struct Point {
    double bytes, flops, seconds;
  };
  static WorkModel fit(std::span<const Point> points);
};

/// The kinds of computation that are told apart.
enum class WorkKind { Elementwise, Reduction, Convolution, Copy, Product };

/// The work of an instruction; none for an instruction that takes no time of its own.
struct Work {
  WorkKind kind;
  /// The type of the operands of a product.
  DType type = F32;
  double bytes = 0, flops = 0;
};
std::optional<Work> getWork(const Program &program, const Instruction &instruction);

/// The costs of a machine, as machine.proto has them.
struct MachineModel {
  std::string description;
  /// Between ranks of one host and of several.
  std::optional<LinkModel> link, nodeLink;
  /// By kind and, of products, type; others are F32.
  std::map<std::pair<WorkKind, DType>, WorkModel> work;

  /// Reads the text format; errors name the file and the line.
  static Result<MachineModel> read(const std::string &path);
  std::string toText() const;

  /// The time of an instruction; for a kind that was not measured, that of the nearest one.
  double getSeconds(const Work &work) const;
  /// The link of a group, all of whose members are on one host or not.
  LinkModel getLink(bool isWithinHost) const;
};

} // namespace meshwright::runtime

#endif
