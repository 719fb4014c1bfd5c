//===- StubRun.h - tests on a GPU that is none ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TEST_UNIT_CUDA_STUBRUN_H
#define MESHWRIGHT_TEST_UNIT_CUDA_STUBRUN_H

#include "meshwright/runtime/Session.h"
#include "test/unit/Runtime/TempFolder.h"
#include <gtest/gtest.h>
#include <map>

namespace meshwright::test {

/// A call as the stub has recorded it.
struct RecordedCall {
  uint64_t thread = 0;
  std::string function;
  bool hasFailed = false;
  /// The arguments that the stub tells, in their order; `argument` comes several times.
  std::vector<std::pair<std::string, std::string>> values;

  /// The number of that name; 0 where there is none.
  uint64_t get(const std::string &name) const;
  std::string getText(const std::string &name) const;
};

using Trace = std::vector<RecordedCall>;

/// Puts the stub in the place of the driver, cuBLASLt and NCCL as long as it lives. With MESHWRIGHT_TEST_GPU in the
/// environment it leaves the real ones, for tests that look at results alone.
class Stub {
public:
  Stub();
  ~Stub();
  /// Begins a new trace.
  void record();
  /// The calls since the last `record`.
  Trace getTrace() const;
  /// Lets the k-th call of a function from now on fail, counted from 1.
  void fail(const std::string &function, uint64_t call);
  void failNothing();
  /// The number of objects and allocations that were made and not destroyed.
  uint64_t countLive() const;

private:
  void reset() const;

  TempFolder folder;
  std::shared_ptr<void> library;
};

/// The mode of ranks on the stub: a GPU each with every step issued, a GPU each with steps captured once, or all on one
/// GPU.
enum class StubMode { Issued, Recorded, OneGpu };
/// As in messages.
std::string_view getName(StubMode mode);
/// Options of a session on the stub.
runtime::SessionOptions makeStubOptions(StubMode mode);

/// Variables and inputs that are drawn from a seed: small integers, so that every order of their sums gives the same.
void fillWithNumbers(runtime::Session &session, uint64_t seed);
/// The names of all outputs and variables of a package; which of them are scalars a session finds out.
std::vector<std::string> listValues(const runtime::LoadedPackage &package);
/// The bytes of all variables and outputs, one after the other.
std::vector<std::byte> readEverything(const runtime::Session &session);

} // namespace meshwright::test

#endif
