//===- AllocationsTest.cpp - collectives do not allocate ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counts what any thread of the process asks for, the backend's own ones included.
//
//===----------------------------------------------------------------------===//

#include "RunRanks.h"
#include "meshwright/runtime/Inproc.h"
#include <atomic>
#include <cstdlib>
#include <gtest/gtest.h>
#include <new>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::test;

static std::atomic<uint64_t> allocations = 0;

#ifndef __has_feature
#define __has_feature(feature) 0
#endif
// Sanitizers bring operators of their own.
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
static constexpr bool isCounting = false;
#else
static constexpr bool isCounting = true;

void *operator new(std::size_t size) {
  ++allocations;
  if (void *result = std::malloc(size ? size : 1))
    return result;
  throw std::bad_alloc();
}
void operator delete(void *address) noexcept { std::free(address); }
void operator delete(void *address, std::size_t) noexcept { std::free(address); }
#endif

TEST(Allocations, StepsMakeNone) {
  if (!isCounting)
    GTEST_SKIP() << "with sanitizers nothing is counted";
  constexpr int64_t ranks = 3;
  auto backend = createInprocBackend(ranks, LinkModel{1e-6, 1e9});
  std::vector<std::vector<double>> values(ranks, std::vector<double>(64));
  for (int64_t rank = 0; rank != ranks; ++rank)
    for (Collective::Kind kind : {Collective::ALL_REDUCE, Collective::BROADCAST, Collective::REDUCE}) {
      CollectiveCall call;
      call.kind = kind;
      call.type = F64;
      call.members = {0, 1, 2};
      call.isStarted = kind != Collective::ALL_REDUCE;
      for (uint32_t part : {0, 1}) {
        std::byte *buffer = reinterpret_cast<std::byte *>(values[rank].data() + 32 * part);
        bool isRoot = rank == part;
        call.parts.push_back({32, kind == Collective::BROADCAST && !isRoot ? nullptr : buffer,
                              kind == Collective::REDUCE && !isRoot ? nullptr : buffer, part});
      }
      ASSERT_TRUE(backend->getCommunicator(rank).prepare(std::move(call)).ok());
    }
  ASSERT_TRUE(connectRanks(*backend, ranks));
  uint64_t before = 0, after = 0;
  for (const Status &status : runRanks(*backend, ranks, [&](int64_t rank) -> Status {
         Communicator &communicator = backend->getCommunicator(rank);
         // Once to warm up; the all-reduces keep the ranks together while one of them looks.
         for (int round = 0; round != 21; ++round) {
           MW_TRY(communicator.execute(0));
           if (rank == 0 && round == 1)
             before = allocations;
           MW_TRY(communicator.execute(0));
           MW_TRY(communicator.start(1));
           MW_TRY(communicator.start(2));
           MW_TRY(communicator.execute(0));
           MW_TRY(communicator.start(1));
           MW_TRY(communicator.wait(1));
         }
         MW_TRY(communicator.execute(0));
         if (rank == 0)
           after = allocations;
         return communicator.execute(0);
       }))
    ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_GT(before, 0u);
  EXPECT_EQ(after, before);
}
