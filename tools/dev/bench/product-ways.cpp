//===- product-ways.cpp - products by oneDNN and by the runtime's loops ---===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products in f32 of training steps, with the left operand as it is or transposed, as in a weight's gradient: the
// runtime's own loops and oneDNN's `dnnl_sgemm`, in turns, and the way that a program takes (`MatmulSet`): tiles of bf16
// with AMX, and the own loops without AVX-512. The results of all are compared. GFLOP/s of the shortest of several rounds; a program
// should be near the faster way.
//
// usage: product-ways [THREADS] [ROUNDS]
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/Arena.h"
#include "meshwright/runtime/MatmulProblem.h"
#include "meshwright/runtime/MatmulSet.h"
#include "runtime/devices/cpu/BlockedMatmul.h"
#include "runtime/devices/cpu/Threads.h"
#include <array>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <fmt/format.h>
#include <oneapi/dnnl/dnnl.h>

using namespace meshwright;
using namespace meshwright::runtime;

namespace {

struct Shape {
  const char *network;
  int64_t m, n, k;
  bool transposed;
  bool rhsTransposed = false;
};

constexpr Shape shapes[] = {{"lstm", 256, 256, 4096, true},
                            {"lstm", 128, 256, 4096, true},
                            {"lstm", 32, 256, 256, false},
                            {"lstm", 4096, 256, 256, false},
                            {"llama", 256, 256, 2048, true},
                            {"llama", 256, 704, 2048, true},
                            {"llama", 704, 256, 2048, true},
                            {"llama", 2048, 704, 256, false},
                            {"vit", 256, 1024, 1040, true},
                            {"vit", 1024, 256, 1040, true},
                            {"vit", 1040, 1024, 256, false},
                            {"vit", 1040, 256, 1024, false},
                            {"gpt2", 768, 2304, 512, true},
                            {"gpt2", 768, 3072, 512, true},
                            {"gpt2", 3072, 768, 512, true},
                            {"gpt2", 512, 3072, 768, false},
                            {"gpt2", 512, 768, 3072, false},
                            {"rows of 4 KiB", 32, 1024, 256, false},
                            {"rows of 4 KiB", 256, 1024, 1024, false},
                            {"rows of 16 KiB", 64, 4096, 512, false},
                            {"attention", 128, 2048, 64, false, true},
                            {"attention", 64, 4096, 64, false, true},
                            {"attention", 4096, 64, 64, false, true},
                            {"attention", 128, 64, 2048, false},
                            {"attention", 64, 64, 4096, false},
                            {"attention", 64, 64, 4096, true},
                            {"attention", 4096, 64, 64, true},
                            {"attention", 4096, 64, 64, false},
                            {"attention", 2048, 64, 128, true},
                            {"attention", 256, 512, 64, false, true},
                            {"attention", 512, 64, 256, true}};

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

std::vector<float> makeMatrix(int64_t size) {
  std::vector<float> values(size);
  for (int64_t i = 0; i != size; ++i)
    values[i] = static_cast<float>(i * 7 % 17 - 8);
  return values;
}

std::byte *bytesOf(std::vector<float> &values) { return reinterpret_cast<std::byte *>(values.data()); }

/// GFLOP/s of the three ways; zeros if they disagree or one fails.
std::array<double, 3> measure(const Shape &shape, int threads, int rounds) {
  auto [network, m, n, k, transposed, rhsTransposed] = shape;
  std::vector<float> lhs = makeMatrix(m * k), rhs = makeMatrix(k * n);
  Matmul matmul;
  matmul.set_lhs_dtype(F32);
  matmul.set_rhs_dtype(F32);
  matmul.set_out_dtype(F32);
  matmul.set_m(m);
  matmul.set_n(n);
  matmul.set_k(k);
  for (int64_t stride : {transposed ? int64_t(1) : k, transposed ? m : int64_t(1)})
    matmul.add_lhs_strides(stride);
  for (int64_t stride : {rhsTransposed ? int64_t(1) : n, rhsTransposed ? k : int64_t(1)})
    matmul.add_rhs_strides(stride);
  for (int64_t stride : {n, int64_t(1)})
    matmul.add_out_strides(stride);
  MatmulProblem problem = getProblem(matmul);
  std::array<std::vector<float>, 3> outs;
  outs.fill(std::vector<float>(m * n));
  Arena scratch;
  auto set = MatmulSet::create(threads);
  if (!set.ok() || !scratch.allocate(getBlockedMatmulScratch(problem, threads)).ok())
    return {};
  auto number = (*set)->prepare(matmul, bytesOf(lhs), bytesOf(rhs), bytesOf(outs[2]), shape.network);
  if (!number.ok() || !(*set)->finish().ok())
    return {};
  LibraryThreads library(threads);
  auto run = [&, m = m, n = n, k = k, transposed = transposed, rhsTransposed = rhsTransposed](int way) {
    if (way == 0)
      runBlockedMatmul(problem, bytesOf(lhs), bytesOf(rhs), bytesOf(outs[0]), scratch.data(), threads);
    else if (way == 1)
      dnnl_sgemm(transposed ? 'T' : 'N', rhsTransposed ? 'T' : 'N', m, n, k, 1, lhs.data(), transposed ? m : k,
                 rhs.data(), rhsTransposed ? k : n, 0, outs[1].data(), n);
    else
      (void)(*set)->execute(*number);
  };
  double flops = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  int times = std::max(1, static_cast<int>(2e8 / flops));
  std::array<double, 3> best{};
  for (int round = 0; round != rounds; ++round)
    for (int way = 0; way != 3; ++way) {
      run(way);
      double start = now();
      for (int i = 0; i != times; ++i)
        run(way);
      best[way] = std::max(best[way], flops * times / (now() - start) / 1e9);
    }
  // Small integers, whose sums are exact in any order.
  return outs[0] == outs[1] && outs[1] == outs[2] ? best : std::array<double, 3>{};
}

} // namespace

int main(int argc, char **argv) {
  int threads = argc > 1 ? std::atoi(argv[1]) : 1, rounds = argc > 2 ? std::atoi(argv[2]) : 10;
  if (threads < 1 || rounds < 1) {
    fmt::print(stderr, "usage: product-ways [THREADS] [ROUNDS]\n");
    return 2;
  }
  fmt::print("{:16}{:>20}  {:>10}{:>8}{:>8}{:>9}\n", "network", "m x n x k", "", "own", "oneDNN", "program");
  double sum = 0;
  for (const Shape &shape : shapes) {
    auto [own, library, program] = measure(shape, threads, rounds);
    if (program == 0) {
      fmt::print(stderr, "product-ways: the ways disagree on {} x {} x {}, or one fails\n", shape.m, shape.n, shape.k);
      return 1;
    }
    sum += std::log(program / std::max(own, library));
    fmt::print("{:16}{:>20}  {:>10}{:8.0f}{:8.0f}{:9.0f}\n", shape.network,
               fmt::format("{} x {} x {}", shape.m, shape.n, shape.k),
               shape.transposed      ? "transposed"
               : shape.rhsTransposed ? "rhs transp."
                                     : "",
               own, library, program);
  }
  fmt::print("program / faster way: {:.2f} (geometric mean)\n", std::exp(sum / std::size(shapes)));
}
