//===- TestPackage.cpp - a package made by hand ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestPackage.h"
#include "ContentHash.h"
#include "ProgramBuilder.h"
#include "meshwright/runtime/SchemaVersion.h"
#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>

using namespace meshwright;
using namespace meshwright::test;

namespace {

constexpr int64_t rows = 8, depth = 4, columns = 8;
/// constants.bin: ones for the serial program's y, then sizes.
constexpr int64_t onesBytes = 4 * rows * columns;
constexpr std::array<int32_t, 7> sizes = {rows / 2 * 4, rows *columns, depth * 4, depth *columns, 1, 8, 4};
/// All numbers after them, up to this.
constexpr int32_t maxSize = 128;
/// For `test_sum` of as many.
constexpr uint64_t sumScratchBytes = maxSize * sizeof(float);
/// The files of the built kernels, and their names in a package.
constexpr std::pair<const char *, const char *> kKernelFiles[] = {
    {MESHWRIGHT_TEST_KERNELS, "kernels-test.so"}, {MESHWRIGHT_EMULATED_TEST_KERNELS, "kernels-emulated.so"}};
/// The coordinate of dp that owns w, where one does.
constexpr uint32_t owner = 1;

/// The program for local sizes. `distributed` adds what goes between the ranks.
void makeProgram(Program &program, int64_t m, int64_t n, bool distributed, Fault fault, bool isOdd) {
  ProgramBuilder builder(program);
  builder.addTask("step");
  uint32_t w = builder.addBuffer("w", {depth, n});
  uint32_t ones = builder.addBuffer("ones", {m, n});
  uint32_t sizeY = builder.addBuffer("", {}, I32), sizeW = builder.addBuffer("", {}, I32);
  uint32_t one = builder.addBuffer("", {}, I32);
  builder.endPersistent();
  uint32_t x = builder.addBuffer("x", {m, depth}), y = builder.addBuffer("y", {m, n});
  uint32_t loss = builder.addBuffer("loss", {}), gradient = builder.addBuffer("grad/w", {depth, n});
  uint32_t coordinate = builder.addBuffer("", {}, I32), pair = builder.addBuffer("pair", {2});
  builder.addConstant(ones, 0);
  builder.addConstant(sizeY, onesBytes + (distributed ? 0 : 4));
  builder.addConstant(sizeW, onesBytes + (distributed ? 8 : 12));
  builder.addConstant(one, onesBytes + 16);

  builder.addMatmul("y", x, w, y, m, n, depth, {depth, 1});
  builder.addKernel("test_sum", {sizeY, y, loss});
  if (distributed && fault == Fault::WrongScale) {
    builder.addCoordinate(coordinate, 1);
    builder.addKernel("test_add_coordinate", {one, loss, coordinate, loss});
  }
  if (distributed && fault == Fault::OtherCount)
    builder.addAllReduce("loss", pair, isOdd ? 2 : 1, {0, 1}, 1);
  if (distributed && !(fault == Fault::MissingMember && isOdd))
    builder.addAllReduce("loss", loss, 1, {0, 1}, 2);
  builder.addMatmul("grad/w", x, ones, gradient, depth, n, m, {1, depth});
  if (distributed && fault != Fault::MissingReduction)
    builder.addAllReduce("grad/w", gradient, depth * n, {0}, 3);
  builder.addKernel("test_update", {sizeW, gradient, w});
  program.add_schedule()->set_end_step(1);
  program.add_variable_buffers(w);
  program.add_input_buffers(x);
  program.add_output_buffers(loss);
  program.add_output_buffers(gradient);
}

/// The distributed program with starts and waits, on owners of w and on others.
void makeOverlapped(Program &program, bool isOwned, bool isOwner) {
  constexpr int64_t m = rows / 2, n = columns / 2;
  ProgramBuilder builder(program, owner);
  builder.addTask("step");
  auto getIf = [](bool condition, uint32_t buffer) { return condition ? static_cast<int32_t>(buffer) : -1; };
  bool holds = !isOwned || isOwner;
  uint32_t kept = holds ? builder.addBuffer("w", {depth, n}) : 0;
  uint32_t ones = builder.addBuffer("ones", {m, n}), sizeY = builder.addBuffer("", {}, I32);
  uint32_t sizeW = builder.addBuffer("", {}, I32);
  builder.endPersistent();
  uint32_t w = holds ? kept : builder.addBuffer("w", {depth, n});
  uint32_t x = builder.addBuffer("x", {m, depth}), y = builder.addBuffer("y", {m, n});
  uint32_t loss = builder.addBuffer("loss", {}), partial = builder.addBuffer("", {depth, n});
  uint32_t gradient = holds ? builder.addBuffer("grad/w", {depth, n}) : 0;
  builder.addConstant(ones, 0);
  builder.addConstant(sizeY, onesBytes);
  builder.addConstant(sizeW, onesBytes + 8);

  if (isOwned)
    builder.addCollective(Collective::BROADCAST, "w", getIf(isOwner, w), getIf(!isOwner, w), depth * n, {0}, 1)
        ->set_start(true);
  builder.addMatmul("grad/w", x, ones, partial, depth, n, m, {1, depth});
  builder
      .addCollective(isOwned ? Collective::REDUCE : Collective::ALL_REDUCE, "grad/w", getIf(true, partial),
                     getIf(holds, gradient), depth * n, {0}, 2)
      ->set_start(true);
  if (isOwned)
    builder.addWait("w", 1);
  builder.addMatmul("y", x, w, y, m, n, depth, {depth, 1});
  builder.addKernel("test_sum", {sizeY, y, loss});
  builder.addAllReduce("loss", loss, 1, {0, 1}, 3);
  builder.addWait("grad/w", 2);
  if (holds)
    builder.addKernel("test_update", {sizeW, gradient, w});
  program.add_schedule()->set_end_step(1);
  program.add_variable_buffers(getIf(holds, kept));
  program.add_input_buffers(static_cast<int32_t>(x));
  program.add_output_buffers(static_cast<int32_t>(loss));
  program.add_output_buffers(getIf(holds, gradient));
}

} // namespace

Package meshwright::test::makePackage(Fault fault, Style style) {
  Package package;
  package.set_version(runtime::schemaVersion);
  package.set_producer("hand");
  for (const char *name : {"dp", "tp"}) {
    Axis *axis = package.add_axes();
    axis->set_name(name);
    axis->set_size(2);
  }
  Variable *w = package.add_variables();
  describe(w, "w", {depth, columns});
  // Two groups of four columns, two of each on every coordinate of tp.
  addSplit(w->mutable_placement()->mutable_dims(1), 1, 4, 2);
  if (style == Style::Owned) {
    Support *support = w->mutable_placement()->add_support();
    support->set_axis(0);
    support->add_coordinates(owner);
  }
  w->mutable_init()->set_kind(Initializer::NORMAL);
  w->mutable_init()->set_b(0.5);
  Port *x = package.add_inputs();
  describe(x, "x", {rows, depth});
  addSplit(x->mutable_placement()->mutable_dims(0), 0, rows, rows / 2);
  x->set_min(-100);
  x->set_max(100);
  Port *loss = package.add_outputs();
  describe(loss, "loss", {});
  loss->set_result(true);
  Port *gradient = package.add_outputs();
  describe(gradient, "grad/w", {depth, columns});
  *gradient->mutable_placement() = w->placement();
  package.mutable_metrics()->set_loss("loss");

  for (bool odd : {false, true})
    if (style == Style::Plain)
      makeProgram(*package.add_programs(), rows / 2, 4, true, fault, odd);
    else
      makeOverlapped(*package.add_programs(), style == Style::Owned, odd);
  for (int rank = 0; rank != 4; ++rank)
    package.add_program_of_rank(rank == 3 || (rank == 2 && style == Style::Owned) ? 1 : 0);
  makeProgram(*package.mutable_serial(), rows, columns, false, Fault::None, false);
  addLibraries(package);
  return package;
}

static void addLaunch(GpuKernel &kernel, const char *function) {
  GpuLaunch *launch = kernel.add_launches();
  launch->set_function(function);
  launch->set_blocks(2);
  launch->set_threads(64);
  launch->set_shared_bytes(64 * sizeof(float));
}

void meshwright::test::addLibraries(Package &package) {
  KernelLibrary *library = package.add_libraries();
  library->set_target("test");
  library->set_file("kernels-test.so");
  KernelLibrary *emulated = package.add_libraries();
  emulated->set_target("emulated");
  emulated->set_file("kernels-emulated.so");
  for (const char *symbol : {"test_add", "test_add_coordinate", "test_bias", "test_bias_gelu", "test_bias_gelu_few",
                             "test_scale", "test_scale_add", "test_slice", "test_sum", "test_update", "test_zero"}) {
    GpuKernel *kernel = emulated->add_gpu_kernels();
    kernel->set_symbol(symbol);
    bool isInParts = symbol == std::string_view("test_sum");
    if (isInParts) {
      addLaunch(*kernel, "test_sum_parts");
      kernel->set_scratch_bytes(sumScratchBytes);
    }
    addLaunch(*kernel, symbol);
  }
}

uint64_t meshwright::test::getSizeOffset(int64_t size) {
  return onesBytes + sizeof(sizes) + 4 * static_cast<uint64_t>(size);
}

std::string meshwright::test::makeConstants() {
  std::string bytes(onesBytes + sizeof(sizes) + 4 * (maxSize + 1), 0);
  float one = 1;
  for (int i = 0; i != rows * columns; ++i)
    std::memcpy(bytes.data() + 4 * i, &one, 4);
  std::memcpy(bytes.data() + onesBytes, sizes.data(), sizeof(sizes));
  for (int32_t size = 0; size <= maxSize; ++size)
    std::memcpy(bytes.data() + getSizeOffset(size), &size, 4);
  return bytes;
}

static std::string readWhole(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

static bool writeWhole(const std::string &path, const std::string &bytes) {
  std::ofstream file(path, std::ios::binary);
  return file.write(bytes.data(), static_cast<std::streamsize>(bytes.size())).good();
}

Package meshwright::test::addHashes(Package package) {
  package.set_constants_hash(hashContent(makeConstants()));
  for (KernelLibrary &library : *package.mutable_libraries())
    for (const auto &[from, to] : kKernelFiles)
      if (library.file() == to)
        library.set_hash(hashContent(readWhole(from)));
  return package;
}

bool meshwright::test::writePackage(const Package &package, const std::string &folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  for (const auto &[from, to] : kKernelFiles)
    if (!error)
      std::filesystem::copy_file(from, folder + "/" + to, std::filesystem::copy_options::overwrite_existing, error);
  return !error && writeWhole(folder + "/constants.bin", makeConstants()) &&
         writeWhole(folder + "/package.pb", sealPackage(addHashes(package).SerializeAsString()));
}
