//===- MatmulSet.h - the products of a program ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_MATMULSET_H
#define MESHWRIGHT_RUNTIME_MATMULSET_H

#include "meshwright/runtime/DType.h"
#include "meshwright/runtime/Status.h"
#include <memory>

namespace meshwright::runtime {

/// The products of one rank's program, prepared for fixed addresses: oneDNN primitives, equal ones made once, and the
/// runtime's own loops for what oneDNN does not do (f64, integers, f16), does only by its reference code, or adds up in
/// an order that depends on the number of threads. All bits are those of one thread, but for AMX on 16 threads or more.
///
/// Belongs to the thread that made it: the library sizes its work by that thread's number of threads, and the own loops
/// have as many as are given.
class MatmulSet {
public:
  static Result<std::unique_ptr<MatmulSet>> create(int threads = 1);
  ~MatmulSet();

  /// Prepares a checked product; returns its number. `name` is for warnings and errors. Products of one `rhsVersion`
  /// other than 0 have the same right operand, and are executed in the order in which they are prepared: the first may
  /// pack it for all.
  Result<uint32_t> prepare(const Matmul &matmul, const std::byte *lhs, const std::byte *rhs, std::byte *out,
                           const std::string &name, uint64_t rhsVersion = 0);
  /// Prepares a product that was prepared before, at other addresses; returns its number.
  uint32_t prepareAgain(uint32_t number, const std::byte *lhs, const std::byte *rhs, std::byte *out,
                        uint64_t rhsVersion = 0);
  /// Allocates the scratch memory that all products share. Nothing is prepared afterwards.
  Status finish();
  /// Computes a product.
  Status execute(uint32_t number);
  /// Computes a product at other addresses from now on.
  Status execute(uint32_t number, const std::byte *lhs, const std::byte *rhs, std::byte *out);

  uint64_t getScratchBytes() const;
  /// Products slower than they could be, one line per cause, with the first product's name and the number of such
  /// products.
  std::vector<std::string> getWarnings() const;

private:
  struct Implementation;
  explicit MatmulSet(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> implementation;
};

} // namespace meshwright::runtime

#endif
