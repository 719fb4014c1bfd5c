//===- CudaEpiloguesTest.cpp - products with epilogues on a GPU -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Epilogues of random products against the formula in f64, closely enough that no other approximation of GELU would do.
//
//===----------------------------------------------------------------------===//

#include "BareDevice.h"
#include "devices/cuda/ProductPlan.h"
#include "test/unit/Runtime/RandomProduct.h"
#include <cstdlib>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::test;

namespace {

double gelu(double h) { return h / 2 * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (h + 0.044715 * h * h * h))); }

/// The stub has all epilogues that are described as they should be; a library may lack some.
bool isOnStub() { return !std::getenv("MESHWRIGHT_TEST_GPU"); }

/// The tolerance of a value of `type`: values are computed in f32 and rounded when they are stored. A GPU's tanh has
/// fewer bits than the host's, and is still nearer to the formula than GELU by erf.
double getTolerance(DType type, double value) {
  double unit = type == BF16 ? 0x1p-8 : type == F16 ? 0x1p-11 : isOnStub() ? 0x1p-18 : 0x1p-13;
  return unit * (std::abs(value) + 0.5);
}

/// A product with an epilogue, in memory of its own.
struct Finished {
  /// The result lies row by row or, with `byColumns`, column by column.
  Finished(Random &random, DType type, std::vector<int64_t> batch, int64_t m, int64_t n, int64_t k, bool byColumns)
      : product(random, type, type, batch, m, n, k), byColumns(byColumns) {
    // Operands without a unit stride would be other matrices for the library.
    lay(product.lhs, *product.matmul.mutable_lhs_strides(), random.chance(50));
    lay(product.rhs, *product.matmul.mutable_rhs_strides(), random.chance(50));
    lay(product.out, *product.matmul.mutable_out_strides(), byColumns);
    // Sums of some units, where GELU is neither 0 nor the identity.
    for (Operand *operand : {&product.lhs, &product.rhs})
      for (uint64_t i = 0; i != operand->bytes.size(); i += runtime::getSize(type))
        store(type, &operand->bytes[i], static_cast<double>(random.pick(-8, 8)) / 8);
    bias.resize((byColumns ? m : n) * runtime::getSize(type));
    for (uint64_t i = 0; i != bias.size(); i += runtime::getSize(type))
      store(type, &bias[i], static_cast<double>(random.pick(-8, 8)) / 4);
    kept = made = product.out.bytes;
  }

  Epilogue &getEpilogue() { return *product.matmul.mutable_epilogue(); }

  /// Computes it on the device; tells whether the library had the epilogue.
  Result<bool> run(Device &device) {
    uint64_t end = 0;
    std::vector<std::byte *> places;
    std::vector<uint64_t> offsets;
    std::vector<std::vector<std::byte> *> arrays = {
        &product.lhs.bytes, &product.rhs.bytes, &product.out.bytes, &bias, &kept, &made};
    for (const std::vector<std::byte> *array : arrays) {
      offsets.push_back(end);
      end += (array->size() + 63) / 64 * 64;
    }
    MW_TRY(device.allocate(end, 0, 0));
    for (size_t i = 0; i != arrays.size(); ++i) {
      places.push_back(device.getArena(DEVICE) + offsets[i]);
      MW_TRY(device.write(places[i], *arrays[i]));
    }
    Instruction instruction;
    *instruction.mutable_matmul() = product.matmul;
    const Epilogue &epilogue = product.matmul.epilogue();
    MatmulAddresses addresses{places[0], places[1], places[2]};
    addresses.bias = epilogue.has_bias() ? places[3] : nullptr;
    addresses.preactivation = epilogue.has_preactivation() ? places[4] : nullptr;
    addresses.finished = places[5];
    MW_TRY_ASSIGN(uint32_t number, device.prepareMatmul(instruction, addresses));
    MW_TRY(device.finishPreparation());
    MW_TRY(device.multiply(number));
    for (size_t i : {2, 4, 5})
      MW_TRY(device.read(*arrays[i], places[i]));
    return device.hasEpilogue(number);
  }

  /// Compares what the epilogue stored with the formula.
  void check() {
    const Epilogue &epilogue = product.matmul.epilogue();
    std::vector<int64_t> index(product.out.sizes.size(), 0);
    for (uint64_t element = 0; element != *getNumElements(product.out.sizes); ++element) {
      uint64_t rest = element;
      for (size_t dim = index.size(); dim-- != 0; rest /= product.out.sizes[dim])
        index[dim] = static_cast<int64_t>(rest % product.out.sizes[dim]);
      double h = sum(index);
      if (epilogue.has_bias())
        h += loadAsDouble(product.out.type,
                          &bias[index.end()[byColumns ? -2 : -1] * runtime::getSize(product.out.type)]);
      if (epilogue.has_preactivation())
        expectNear(kept, index, h);
      expectNear(made, index, epilogue.activation() == Epilogue::GELU_TANH ? gelu(h) : h);
    }
  }

  Product product;
  bool byColumns;
  std::vector<std::byte> bias, kept, made;

private:
  /// Contiguous matrices, row by row or column by column.
  static void lay(Operand &operand, google::protobuf::RepeatedField<int64_t> &strides, bool byColumns) {
    size_t dims = operand.sizes.size();
    int64_t rows = operand.sizes[dims - 2], columns = operand.sizes[dims - 1], stride = rows * columns;
    operand.strides[dims - 2] = byColumns ? 1 : columns;
    operand.strides[dims - 1] = byColumns ? rows : 1;
    for (size_t dim = dims - 2; dim-- != 0; stride *= operand.sizes[dim])
      operand.strides[dim] = stride;
    strides.Assign(operand.strides.begin(), operand.strides.end());
    operand.bytes.assign(static_cast<size_t>(stride) * runtime::getSize(operand.type), std::byte(0));
  }

  double sum(const std::vector<int64_t> &index) {
    double sum = 0;
    for (int64_t p = 0; p != product.matmul.k(); ++p) {
      std::vector<int64_t> left = index, right = index;
      left.back() = p;
      right.end()[-2] = p;
      sum +=
          loadAsDouble(product.lhs.type, product.lhs.at(left)) * loadAsDouble(product.rhs.type, product.rhs.at(right));
    }
    return sum;
  }

  void expectNear(const std::vector<std::byte> &array, const std::vector<int64_t> &index, double expected) {
    const std::byte *place = array.data() + (product.out.at(index) - product.out.bytes.data());
    EXPECT_NEAR(loadAsDouble(product.out.type, place), expected, getTolerance(product.out.type, expected));
  }
};

} // namespace

TEST(CudaEpilogues, OfRandomProducts) {
  Random random;
  for (int round = 0; round != 90; ++round) {
    SCOPED_TRACE(random.describe(round));
    DType type = random.choose(std::vector<DType>{F32, BF16, F16});
    std::vector<int64_t> batch;
    for (int64_t n = random.pick(0, 2); n != 0; --n)
      batch.push_back(random.pick(1, 3));
    bool byColumns = random.chance(30);
    int64_t along = 8 * random.pick(1, 3), across = random.pick(2, 9);
    Finished finished(random, type, batch, byColumns ? along : across, byColumns ? across : along, random.pick(1, 12),
                      byColumns);
    Epilogue &epilogue = finished.getEpilogue();
    if (random.chance(70))
      epilogue.set_bias(0);
    if (!epilogue.has_bias() || random.chance(60))
      epilogue.set_activation(Epilogue::GELU_TANH);
    if (epilogue.activation() == Epilogue::GELU_TANH && random.chance(50))
      epilogue.set_preactivation(0);
    BareDevice bare;
    Result<bool> taken = finished.run(*bare.device);
    ASSERT_TRUE(taken.ok()) << taken.status().message();
    EXPECT_TRUE(*taken || !isOnStub());
    if (*taken)
      finished.check();
  }
}

TEST(CudaEpilogues, ThatTheLibraryHasNotAreLeftToTheKernel) {
  Random random;
  // The auxiliary matrix has columns of 12 elements; of a result of one row the library sees 12 rows of one.
  Finished offGrain(random, F32, {}, 3, 12, 4, false), oneRow(random, F32, {}, 1, 12, 4, false);
  offGrain.getEpilogue().set_activation(Epilogue::GELU_TANH);
  offGrain.getEpilogue().set_preactivation(0);
  oneRow.getEpilogue().set_bias(0);
  for (Finished *finished : {&offGrain, &oneRow}) {
    BareDevice bare;
    std::vector<std::byte> untouched = finished->made;
    Result<bool> taken = finished->run(*bare.device);
    ASSERT_TRUE(taken.ok()) << taken.status().message();
    EXPECT_FALSE(*taken);
    EXPECT_EQ(finished->made, untouched);
    EXPECT_NE(finished->product.out.bytes, untouched);
    EXPECT_EQ(
        bare.device->getWarnings(),
        std::vector<std::string>{"cuBLASLt has no algorithm for the epilogues of 1 products; kernels compute them"});
  }
}

/// For products of one shape, alignment and epilogue an algorithm is chosen once, whatever their addresses are.
TEST(CudaEpilogues, AreChosenOnce) {
  if (!isOnStub())
    GTEST_SKIP() << "counts the calls of the stub";
  Random random;
  Finished finished(random, F32, {}, 4, 8, 4, false);
  finished.getEpilogue().set_bias(0);
  Instruction instruction;
  *instruction.mutable_matmul() = finished.product.matmul;
  BareDevice bare;
  ASSERT_TRUE(bare.device->allocate(1 << 16, 0, 0).ok());
  std::byte *arena = bare.device->getArena(DEVICE);
  bare.stub.record();
  for (uint64_t at : {0, 8192, 16384}) {
    MatmulAddresses addresses{arena + at, arena + at + 1024, arena + at + 2048, arena + at + 3072};
    addresses.finished = arena + at + 4096;
    ASSERT_TRUE(bare.device->prepareMatmul(instruction, addresses).ok());
  }
  std::map<std::string, int> counts;
  for (const RecordedCall &call : bare.stub.getTrace())
    ++counts[call.function];
  EXPECT_EQ(counts["cublasLtMatmulAlgoGetHeuristic"], 1);
}
