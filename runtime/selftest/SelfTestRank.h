//===- SelfTestRank.h - one rank's side of the suite ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_SELFTEST_SELFTESTRANK_H
#define MESHWRIGHT_RUNTIME_SELFTEST_SELFTESTRANK_H

#include "SelfTestCases.h"
#include "meshwright/runtime/Device.h"
#include <atomic>

namespace meshwright::runtime {

/// A defect that a rank found.
struct SelfTestFindings {
  uint64_t wrong = 0;
  /// The first wrong element, as a sentence.
  std::string first;
};

/// A rank with its buffers and the cases of a batch as its communicator knows them. Used on the rank's thread.
class SelfTestRank {
public:
  SelfTestRank(const SelfTestBatch &batch, Device &device, Communicator &communicator, int64_t rank)
      : batch(batch), device(device), communicator(communicator), rank(rank) {}

  /// Allocates the buffers and describes all cases.
  Status prepare();
  /// Runs all cases and checks what comes; `done` counts them.
  Status run(std::atomic<uint64_t> &done);
  /// Does case i `times` times, checks what came, and returns the seconds of one.
  Result<double> measure(size_t i, int times);

  const SelfTestFindings &getFindings() const { return findings; }

private:
  /// A part of a case where this rank takes part; null where it has no operand or result.
  struct Place {
    std::byte *in = nullptr, *out = nullptr;
    uint64_t inBytes = 0, outBytes = 0;
  };
  struct Prepared {
    std::vector<int64_t> members; // none where this rank does not take part
    size_t place = 0;             // among the members
    std::vector<Place> parts;
    uint32_t number = 0;
  };
  uint64_t getBytes(const SelfTestCase &test, const Prepared &prepared) const;
  void arrange(const SelfTestCase &test, Prepared &prepared, std::byte *memory) const;
  Status prepareCase(size_t i, std::byte *memory);
  Status fill(const SelfTestCase &test, const Prepared &prepared);
  Status runWindow(size_t begin, size_t end);
  Status check(const SelfTestCase &test, const Prepared &prepared);
  Result<std::span<const std::byte>> fetch(const std::byte *from, uint64_t bytes);
  void checkResult(const SelfTestCase &test, const Prepared &prepared, uint32_t part,
                   std::span<const std::byte> result);
  void checkGuard(const SelfTestCase &test, const Prepared &prepared, uint32_t part,
                  std::span<const std::byte> guarded);
  void checkOperand(const SelfTestCase &test, const Prepared &prepared, uint32_t part,
                    std::span<const std::byte> operand);
  void report(const SelfTestCase &test, const Prepared &prepared, uint64_t wrong, const std::string &what);

  const SelfTestBatch &batch;
  Device &device;
  Communicator &communicator;
  int64_t rank;
  std::vector<Prepared> cases;
  /// The bytes copied to the device, or from it.
  std::vector<std::byte> host;
  SelfTestFindings findings;
};

} // namespace meshwright::runtime

#endif
