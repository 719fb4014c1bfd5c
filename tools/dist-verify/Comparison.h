//===- Comparison.h - two graphs, compared by evaluation --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TOOLS_DIST_VERIFY_COMPARISON_H
#define MESHWRIGHT_TOOLS_DIST_VERIFY_COMPARISON_H

#include <string>
#include <vector>

namespace meshwright::tool {

/// A serial graph, a program for one rank that was made of it, and how they are compared.
struct Comparison {
  std::string serial, partitioned;
  bool quiet = false;
  /// Options of dist-opt and of dist-run.
  std::vector<std::string> compilerOptions, runOptions;
  std::string steps = "2";

  /// Sets an option of dist-verify for graphs, such as `--mesh`.
  void set(const std::string &name, const std::string &value);
};

/// Has dist-opt compile both into a package in a temporary folder, and dist-run evaluate them exactly. Both stand
/// beside this program and print what they find. The exit status of dist-verify.
int compare(const Comparison &comparison);

} // namespace meshwright::tool

#endif
