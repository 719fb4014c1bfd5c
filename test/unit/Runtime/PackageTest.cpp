//===- PackageTest.cpp - checks of packages at loading --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Changes a hand-made package, one field at a time, and compares the error of the loader: tables, buffers,
// instructions, schedules, collectives and hashes.
//
//===----------------------------------------------------------------------===//

#include "ContentHash.h"
#include "TempFolder.h"
#include "TestPackage.h"
#include "meshwright/runtime/KernelLibraries.h"
#include "meshwright/runtime/Session.h"
#include "test/unit/Random.h"
#include <functional>
#include <gtest/gtest.h>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::test;

/// The error of opening the package with a change made to it; empty if there is none.
static std::string getError(const std::function<void(Package &)> &change) {
  TempFolder folder;
  Package message = makePackage();
  change(message);
  EXPECT_TRUE(writePackage(message, folder / "p"));
  auto package = LoadedPackage::open(folder / "p");
  if (package.ok())
    return "";
  EXPECT_EQ(package.status().code(), Code::Input);
  return package.status().message().substr((folder / "p/package.pb").size() + 2);
}

static Instruction &getInstruction(Package &package, int i) {
  return *package.mutable_programs(0)->mutable_tasks(0)->mutable_instructions(i);
}

/// Lets every program run its first task for so many micro-batches.
static void runMicroBatches(Package &package, uint32_t number) {
  package.set_micro_batches(number);
  for (Program &program : *package.mutable_programs()) {
    ScheduleItem item = program.schedule(0);
    for (uint32_t microBatch = 1; microBatch != number; ++microBatch) {
      item.set_micro_batch(microBatch);
      *program.add_schedule() = item;
    }
  }
}

TEST(Package, GoodOneIsOpened) {
  EXPECT_EQ(getError([](Package &) {}), "");
}

TEST(Package, MissingOrForeignFilesAreErrors) {
  TempFolder folder;
  EXPECT_EQ(LoadedPackage::open(folder / "none").status().message(),
            "cannot open " + (folder / "none/package.pb") + ": No such file or directory");
  std::filesystem::create_directory(folder / "p");
  folder.write("p/package.pb", "no protobuf");
  EXPECT_EQ(LoadedPackage::open(folder / "p").status().message(),
            folder / "p/package.pb" + ": the 11 bytes are no package message");
}

// Tests that each file of a package is held against the hash that stands in the package.
TEST(Package, DamagedAndForeignFilesAreErrors) {
  TempFolder folder;
  ASSERT_TRUE(writePackage(makePackage(), folder / "p"));
  auto damage = [&](const char *name, size_t at) {
    std::string bytes = folder.read(std::string("p/") + name);
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
    folder.write(std::string("p/") + name, bytes);
    return LoadedPackage::open(folder / "p").status().message();
  };
  EXPECT_EQ(damage("package.pb", 4).find(folder / "p/package.pb" + ": the file is damaged or of another package: its "),
            0u);
  damage("package.pb", 4);
  EXPECT_TRUE(LoadedPackage::open(folder / "p").ok());
  std::string constants = damage("constants.bin", 300);
  EXPECT_EQ(constants.find(folder / "p/constants.bin" + ": the file is damaged or of another package: its "), 0u);
  EXPECT_NE(constants.find(" but the package says " + formatHash(hashContent(makeConstants()))), std::string::npos);
  damage("constants.bin", 300);
  // Kernels are looked at when they are loaded.
  EXPECT_EQ(damage("kernels-test.so", 100), "");
  LoadedPackage package = std::move(*LoadedPackage::open(folder / "p"));
  EXPECT_EQ(LoadedKernels::load(package, "")
                .status()
                .message()
                .find(folder / "p/kernels-test.so" + ": the file is damaged or of another package: its "),
            0u);
  // A package of this version has a hash.
  folder.write("p/package.pb", addHashes(makePackage()).SerializeAsString());
  EXPECT_EQ(LoadedPackage::open(folder / "p").status().message(),
            folder / "p/package.pb" + ": the package does not end with the hash of its content");
}

// Tests the hash of contents with numbers that a program in Python computes from the definition in ContentHash.h.
TEST(Package, HashesOfContents) {
  std::string text;
  for (int i = 0; i != 100; ++i)
    text += static_cast<char>(i * 7);
  EXPECT_EQ(formatHash(hashContent(std::string_view())), "5b492273aa046a6c");
  EXPECT_EQ(formatHash(hashContent("a")), "eedbf5450340a60e");
  EXPECT_EQ(formatHash(hashContent(std::string_view(text).substr(0, 32))), "eba9f90ac31f9a5d");
  EXPECT_EQ(formatHash(hashContent(text)), "54ec225ef62caf72");
  // A last word that is padded is not the longer text with zeros.
  EXPECT_NE(hashContent(std::string_view("a\0", 2)), hashContent("a"));
}

TEST(Package, TablesAreChecked) {
  EXPECT_EQ(getError([](Package &p) { p.set_version(1); }),
            "the package has schema version 1 but this runtime reads version 8");
  EXPECT_EQ(getError([](Package &p) { p.add_program_of_rank(0); }),
            "the mesh has 4 ranks but the package gives programs to 5");
  EXPECT_EQ(getError([](Package &p) { p.set_program_of_rank(2, 9); }), "a rank runs program 9 but the package has 2");
  EXPECT_EQ(getError([](Package &p) { *p.add_outputs() = p.outputs(0); }), "two outputs are called \"loss\"");
  EXPECT_EQ(getError([](Package &p) { p.mutable_variables(0)->set_shape(0, -1); }),
            "variable \"w\": the shape -1x8 is no shape whose bytes can be counted");
  EXPECT_EQ(getError([](Package &p) {
              p.mutable_variables(0)->set_shape(0, int64_t(1) << 54); // of 8 elements of 4 bytes each
              for (const char *name : {"v", "u"}) {
                Variable variable = p.variables(0);
                variable.set_name(name);
                *p.add_variables() = variable;
              }
            }),
            "variable \"u\": the values up to this one have more than 1152921504606846976 bytes, the most that can be "
            "added up");
  EXPECT_EQ(getError([](Package &p) { p.mutable_variables(0)->mutable_init()->set_b(-1); }),
            "variable \"w\": the initializer's standard deviation is -1, below 0");
  EXPECT_EQ(
      getError([](Package &p) { p.mutable_variables(0)->mutable_init()->set_kind(static_cast<Initializer::Kind>(9)); }),
      "variable \"w\": initializer kind 9 is none of constant, normal, truncated normal and uniform");
  EXPECT_EQ(getError([](Package &p) { p.mutable_axes(0)->set_size(int64_t(1) << 40); }).substr(0, 55),
            "axis \"dp\" of size 1099511627776 makes the mesh larger t");
  EXPECT_EQ(getError([](Package &p) { p.mutable_libraries(0)->set_file("../x.so"); }),
            "the kernels of target \"test\" are in \"../x.so\", which is no file of the package");
  EXPECT_EQ(
      getError([](Package &p) {
        GpuLaunch *launch = p.mutable_libraries(1)->mutable_gpu_kernels(0)->mutable_launches(0);
        launch->set_threads(1025);
      }),
      "target \"emulated\": kernel test_add launches test_add with 2 blocks of 1025 threads; 1 to 2147483647 of 1 "
      "to 1024 would do");
  EXPECT_EQ(
      getError([](Package &p) {
        p.mutable_libraries(1)->mutable_gpu_kernels(0)->set_scratch_bytes((uint64_t(1) << 30) + 1);
      }),
      "target \"emulated\": kernel test_add wants 1073741825 bytes of scratch memory; at most 1073741824 would do");
  EXPECT_EQ(getError([](Package &p) { p.mutable_programs(0)->clear_input_buffers(); }),
            "program 0: the program gives places to 0 inputs but the package has 1");
}

TEST(Package, ArenasAreAsLargeAsTheirBuffersNeed) {
  EXPECT_EQ(getError([](Package &p) { p.mutable_programs(0)->set_arena_bytes(uint64_t(1) << 52); }),
            "program 0: the arena has 4503599627370496 bytes, but the last buffer ends at 648");
  EXPECT_EQ(getError([](Package &p) { p.mutable_programs(0)->set_host_arena_bytes(8192); }),
            "program 0: the host arena has 8192 bytes, but the last buffer ends at 0");
  EXPECT_EQ(getError([](Package &p) { p.mutable_serial()->set_arena_bytes(uint64_t(1) << 52); }).substr(0, 14),
            "serial program");
}

TEST(Package, BuffersAreChecked) {
  auto change = [](std::function<void(Program &)> fn) {
    return getError([&](Package &p) { fn(*p.mutable_programs(0)); });
  };
  EXPECT_EQ(change([](Program &p) { p.set_arena_bytes(p.arena_bytes() - 64); }).substr(0, 21), "program 0: buffer 10:");
  EXPECT_EQ(change([](Program &p) { p.mutable_buffers(0)->set_offset(3); }),
            "program 0: buffer 0: the offset 3 is no multiple of the 4 bytes of an element");
  EXPECT_EQ(change([](Program &p) { p.mutable_buffers(0)->set_offset(uint64_t(0) - 64); }).substr(0, 20),
            "program 0: buffer 0:");
  EXPECT_EQ(change([](Program &p) { p.mutable_buffers(0)->set_bytes(63); }),
            "program 0: buffer 0: an array of 4x4xf32 does not fit 63 bytes");
  EXPECT_EQ(change([](Program &p) { p.mutable_buffers(0)->set_shape(1, int64_t(1) << 61); }).substr(0, 20),
            "program 0: buffer 0:");
  EXPECT_EQ(change([](Program &p) { p.mutable_constants(0)->set_file_offset(768); }),
            "program 0: constant 0: 64 bytes at offset 768 do not lie in constants.bin of 800 bytes");
  EXPECT_EQ(change([](Program &p) { p.set_variable_buffers(0, 99); }),
            "program 0: variable \"w\": buffer 99 is named but the program has 11");
  EXPECT_EQ(change([](Program &p) { p.set_variable_buffers(0, -2); }),
            "program 0: variable \"w\": buffer 4294967294 is named but the program has 11");
  EXPECT_EQ(change([](Program &p) { p.set_input_buffers(0, 7); }),
            "program 0: input \"x\": a rank holds 4x4xf32 of it but its buffer 7 has f32");
  EXPECT_EQ(change([](Program &p) { p.set_persistent_bytes(64); }),
            "program 0: the variable or constant \"ones\" ends at offset 128 but the persistent part at 64");
  EXPECT_EQ(change([](Program &p) { p.mutable_buffers(1)->set_offset(0); }).substr(0, 33),
            "program 0: the variable or consta");
  EXPECT_EQ(change([](Program &p) { p.set_persistent_bytes(p.arena_bytes() + 64); }),
            "program 0: the persistent part has 768 bytes but the arena 704");
  EXPECT_EQ(getError([](Package &p) {
              runMicroBatches(p, 1000);
              Program &program = *p.mutable_programs(0);
              program.set_arena_bytes(704 + 1000 * 64);
              while (program.buffers_size() != 17000) {
                Buffer &buffer = *program.add_buffers();
                buffer.set_offset(704);
                buffer.set_dtype(F32);
                buffer.add_shape(0);
                buffer.set_slots(1000);
                buffer.set_slot_bytes(64);
              }
            }),
            "program 0: buffer 16788: the buffers have 16778000 slots, more than 16777216");
}

TEST(Package, InstructionsAreChecked) {
  auto change = [](int i, std::function<void(Instruction &)> fn) {
    std::string error = getError([&](Package &p) { fn(getInstruction(p, i)); });
    return error.substr(0, 1) == "p" ? error.substr(error.find("): ") + 3) : error;
  };
  EXPECT_EQ(getError([](Package &p) { getInstruction(p, 0).mutable_matmul()->set_lhs(99); }),
            "program 0: task \"step\", instruction 0 (y, hand.mlir:1): buffer 99 is named but the program has 11");
  EXPECT_EQ(change(0, [](Instruction &i) { i.mutable_matmul()->set_m(5); }),
            "the left operand of 5x4xf32 with strides 4x1 does not fit 64 bytes");
  EXPECT_EQ(change(0, [](Instruction &i) { i.mutable_matmul()->set_lhs_strides(0, -4); }),
            "the left operand of 4x4xf32 with strides -4x1 does not fit 64 bytes");
  EXPECT_EQ(change(0, [](Instruction &i) { i.mutable_matmul()->set_lhs_strides(0, INT64_MAX); }),
            "the left operand of 4x4xf32 with strides 9223372036854775807x1 does not fit 64 bytes");
  EXPECT_EQ(change(0, [](Instruction &i) { i.mutable_matmul()->add_batch(2); }),
            "the left operand has 2 strides for 3 dimensions");
  EXPECT_EQ(change(0, [](Instruction &i) { i.mutable_matmul()->set_out_strides(0, 1); }),
            "elements of the result are in one place: a dimension of 4 has stride 1 where 4 are taken");
  EXPECT_EQ(change(0, [](Instruction &i) { i.mutable_matmul()->set_out(0); }),
            "the result in buffer 0 overlaps the operand in buffer 0");
  EXPECT_EQ(change(0, [](Instruction &i) { i.mutable_matmul()->set_out_dtype(I32); }),
            "a product of f32 and f32 is no i32");
  EXPECT_EQ(change(0, [](Instruction &i) { i.mutable_matmul()->set_rounded_dtype(BF16); }),
            "the result is rounded to bf16, as in no package of a file");
  EXPECT_EQ(change(1, [](Instruction &i) { i.mutable_kernel()->set_arguments(1, 11); }),
            "buffer 11 is named but the program has 11");
  EXPECT_EQ(change(2, [](Instruction &i) { i.mutable_collective()->set_axes(0, 2); }),
            "the group has axis 2 of a mesh with 2 axes");
  EXPECT_EQ(change(2, [](Instruction &i) { i.mutable_collective()->set_axes(0, 1); }),
            "the group has the axis \"tp\" twice");
  EXPECT_EQ(change(2, [](Instruction &i) { i.mutable_collective()->mutable_parts(0)->set_count(uint64_t(1) << 63); }),
            "9223372036854775808 elements of f32 for 1 members do not fit the 4 bytes of buffer 7");
  EXPECT_EQ(change(2, [](Instruction &i) { i.mutable_collective()->set_kind(Collective::ALL_GATHER); }),
            "1 elements of f32 for 4 members do not fit the 4 bytes of buffer 7");
  EXPECT_EQ(change(2, [](Instruction &i) { i.mutable_collective()->set_reduction(Collective::AND); }),
            "the reduction AND is not defined on f32");
  EXPECT_EQ(change(2, [](Instruction &i) { i.mutable_copy()->set_to(7); }),
            "buffer 0 of 64 bytes is copied to buffer 7 of 4 bytes");
  EXPECT_EQ(change(2, [](Instruction &i) { i.clear_kind(); }),
            "the instruction is of a kind that this runtime does not know");
  EXPECT_EQ(change(2, [](Instruction &i) { i.mutable_coordinate()->set_buffer(0); }),
            "the coordinate is written to buffer 0 of 64 bytes of f32 where an i32 is wanted");
  EXPECT_EQ(getError([](Package &p) { p.mutable_programs(0)->mutable_schedule(0)->set_task(3); }),
            "program 0: the schedule runs task 3 but the program has 1");
}

/// The error of the package whose first instruction is a convolution, with a change made to it.
static std::string getConvolutionError(const std::function<void(Convolution &)> &change) {
  std::string error = getError([&](Package &p) {
    Matmul matmul = getInstruction(p, 0).matmul();
    Convolution &convolution = *getInstruction(p, 0).mutable_convolution();
    convolution.set_lhs(matmul.lhs());
    convolution.set_rhs(matmul.rhs());
    convolution.set_out(matmul.out());
    for (auto set : {&Convolution::set_lhs_dtype, &Convolution::set_rhs_dtype, &Convolution::set_out_dtype})
      (convolution.*set)(F32);
    for (auto set :
         {&Convolution::set_groups, &Convolution::set_batch, &Convolution::set_channels, &Convolution::set_features})
      (convolution.*set)(1);
    ConvolutionWindow &window = *convolution.add_window();
    for (auto set :
         {&ConvolutionWindow::set_in, &ConvolutionWindow::set_size, &ConvolutionWindow::set_out,
          &ConvolutionWindow::set_stride, &ConvolutionWindow::set_lhs_dilation, &ConvolutionWindow::set_rhs_dilation})
      (window.*set)(1);
    for (int i = 0; i != 4; ++i)
      convolution.add_lhs_strides(1), convolution.add_rhs_strides(1), convolution.add_out_strides(1);
    change(convolution);
  });
  size_t at = error.find("): ");
  return at == std::string::npos ? error : error.substr(at + 3);
}

TEST(Package, ConvolutionsAreChecked) {
  EXPECT_EQ(getConvolutionError([](Convolution &) {}), "");
  EXPECT_EQ(getConvolutionError([](Convolution &c) {
              while (c.window_size() != 4)
                *c.add_window() = c.window(0);
            }),
            "the convolution has 4 spatial dimensions, more than 3");
  EXPECT_EQ(getConvolutionError([](Convolution &c) { c.mutable_window(0)->set_stride(0); }),
            "a window has stride 0 and dilations 1 and 1, which are positive");
  EXPECT_EQ(getConvolutionError([](Convolution &c) { c.mutable_window(0)->set_low(INT64_MIN); }),
            "a window of 1 elements, 1 apart, at 1 places, 1 apart, after -9223372036854775808 of padding reaches too "
            "far");
  EXPECT_EQ(getConvolutionError([](Convolution &c) { c.set_lhs_dtype(I32); }),
            "a convolution is of floats of 16 bits or more, not of i32");
}

/// Gives the mesh further axes, along which all ranks do the same.
static void addAxes(Package &package, int number, int64_t size) {
  for (int i = 0; i != number; ++i) {
    Axis &axis = *package.add_axes();
    axis.set_name("further " + std::to_string(i));
    axis.set_size(size);
  }
  int64_t ranks = 1;
  for (const Axis &axis : package.axes())
    ranks *= axis.size();
  package.clear_program_of_rank();
  for (int64_t rank = 0; rank != ranks; ++rank)
    package.add_program_of_rank(0);
}

/// Adds copies of the reduction of the loss, each with a tag of its own.
static void addReductions(Package &package, int number, const std::function<void(Collective &, int)> &change) {
  for (int i = 0; i != number; ++i) {
    Instruction &added = *package.mutable_programs(0)->mutable_tasks(0)->add_instructions();
    added = getInstruction(package, 2);
    added.mutable_collective()->set_tag(100 + i);
    change(*added.mutable_collective(), i);
  }
}

TEST(Package, RanksAreInNoMoreGroupsThanCanBeFollowed) {
  auto getManyError = [](int number) {
    return getError([&](Package &p) {
      addAxes(p, 8, 2);
      addReductions(p, number, [](Collective &collective, int i) {
        collective.clear_axes();
        for (uint32_t axis = 0; axis != 10; ++axis)
          if ((i + 1) >> axis & 1)
            collective.add_axes(axis);
      });
    });
  };
  EXPECT_EQ(getManyError(200), "");
  EXPECT_EQ(getManyError(300), "the package groups its ranks in 300 ways, more than 256");
}

TEST(Package, ARunHasNoMoreEventsThanCanBeFollowed) {
  EXPECT_EQ(getError([](Package &p) {
              addAxes(p, 1, 2048);
              addReductions(p, 4000, [](Collective &, int) {});
              runMicroBatches(p, 9);
            }),
            "the ranks issue 295059456 collectives and waits in a step, more than 268435456");
}

TEST(Package, MembersOfAGroupIssueTheSame) {
  auto getFaultyError = [](Fault fault) { return getError([&](Package &p) { p = makePackage(fault); }); };
  EXPECT_EQ(getFaultyError(Fault::MissingMember),
            "ranks 0 and 3 are in one group, but where rank 0 issues c_allreduce #2 (loss, hand.mlir:3) of 1 f32, rank "
            "3 issues nothing");
  EXPECT_EQ(getFaultyError(Fault::OtherCount),
            "ranks 0 and 3 are in one group, but where rank 0 issues c_allreduce #1 (loss, hand.mlir:3) of 1 f32, rank "
            "3 issues c_allreduce #1 (loss, hand.mlir:3) of 2 f32");
  auto getMessage = [](std::function<void(Collective &)> fn) {
    // Rank 3 runs a program of its own.
    std::string error = getError([&](Package &p) {
      fn(*p.mutable_programs(1)->mutable_tasks(0)->mutable_instructions(2)->mutable_collective());
    });
    size_t at = error.find("rank 3 issues ");
    return at == std::string::npos ? error : error.substr(at + 14);
  };
  EXPECT_EQ(getMessage([](Collective &) {}), "");
  EXPECT_EQ(getMessage([](Collective &c) { c.set_tag(9); }), "c_allreduce #9 (loss, hand.mlir:3) of 1 f32");
  EXPECT_EQ(getMessage([](Collective &c) { c.set_reduction(Collective::MAX); }),
            "c_allreduce #2 (loss, hand.mlir:3) of 1 f32");
  EXPECT_EQ(getMessage([](Collective &c) { c.set_dtype(I32); }), "c_allreduce #2 (loss, hand.mlir:3) of 1 i32");
  EXPECT_EQ(getMessage([](Collective &c) { *c.add_parts() = c.parts(0), c.mutable_parts(1)->set_count(0); }),
            "c_allreduce #2 (loss, hand.mlir:3) of 2 parts of 1 f32");
  // The order of the axes is that of the members.
  EXPECT_EQ(getMessage([](Collective &c) { c.set_axes(0, 1), c.set_axes(1, 0); }), "nothing");
}

/// The error of the owned package, whose program 1 is the owner's, with a change made to an instruction of one program;
/// without where it is.
static std::string getOwnedError(int program, int i, const std::function<void(Instruction &)> &change) {
  std::string error = getError([&](Package &p) {
    p = makePackage(Fault::None, Style::Owned);
    change(*p.mutable_programs(program)->mutable_tasks(0)->mutable_instructions(i));
  });
  size_t at = error.find("): ");
  return at == std::string::npos ? error : error.substr(at + 3);
}
constexpr int broadcast = 0, reduce = 2;

TEST(Package, RootsHaveWhatTheOthersHaveNot) {
  auto getPartError = [](int program, int i, std::function<void(CollectivePart &)> change) {
    return getOwnedError(
        program, i, [&](Instruction &instruction) { change(*instruction.mutable_collective()->mutable_parts(0)); });
  };
  EXPECT_EQ(getPartError(0, 0, [](CollectivePart &) {}), "");
  EXPECT_EQ(getPartError(0, broadcast, [](CollectivePart &p) { p.set_in(0); }),
            "part \"w\" has a buffer for the operand, but member 1 is the root");
  EXPECT_EQ(getPartError(0, broadcast, [](CollectivePart &p) { p.clear_out(); }), "part \"w\" has no result");
  EXPECT_EQ(getPartError(1, broadcast, [](CollectivePart &p) { p.clear_in(); }),
            "part \"w\" has no operand on its root");
  EXPECT_EQ(getPartError(1, broadcast, [](CollectivePart &p) { p.set_out(p.in()); }), "");
  EXPECT_EQ(getPartError(0, broadcast, [](CollectivePart &p) { p.set_out(99); }),
            "buffer 99 is named but the program has 8");
  EXPECT_EQ(getPartError(0, broadcast, [](CollectivePart &p) { p.set_root(2); }),
            "the root is member 2 of a group of 2");
  EXPECT_EQ(getPartError(0, broadcast, [](CollectivePart &p) { p.set_root(0); }),
            "part \"w\" has no operand on its root");
  EXPECT_EQ(getPartError(0, broadcast, [](CollectivePart &p) { p.set_count(17); }),
            "17 elements of f32 for 1 members do not fit the 64 bytes of buffer 3");
  EXPECT_EQ(getPartError(0, reduce, [](CollectivePart &p) { p.clear_in(); }), "part \"grad/w\" has no operand");
  EXPECT_EQ(getPartError(0, reduce, [](CollectivePart &p) { p.set_out(p.in()); }),
            "part \"grad/w\" has a buffer for the result, but member 1 is the root");
  EXPECT_EQ(getPartError(1, reduce, [](CollectivePart &p) { p.clear_out(); }),
            "part \"grad/w\" has no result on its root");
  EXPECT_EQ(getPartError(1, reduce, [](CollectivePart &p) { p.set_out(p.in()); }), "");
  auto getKindError = [](Collective::Kind kind, bool clearIn) {
    return getOwnedError(1, reduce, [&](Instruction &i) {
      i.mutable_collective()->set_kind(kind);
      if (clearIn)
        i.mutable_collective()->mutable_parts(0)->clear_in();
      else
        i.mutable_collective()->mutable_parts(0)->clear_out();
    });
  };
  EXPECT_EQ(getKindError(Collective::ALL_REDUCE, false), "part \"grad/w\" has no result");
  EXPECT_EQ(getKindError(Collective::ALL_REDUCE, true), "part \"grad/w\" has no operand");
  // One program for the owner and another member.
  EXPECT_EQ(
      getError([](Package &p) {
        p = makePackage(Fault::None, Style::Owned);
        p.clear_program_of_rank();
        for (int rank = 0; rank != 4; ++rank)
          p.add_program_of_rank(1);
      }),
      "program 1: task \"step\", instruction 0 (w, hand.mlir:1): the program is run by member 1 of the group, the "
      "root of part \"w\", and by others");
}

TEST(Package, PartsOfALaunchAreApart) {
  auto getPartsError = [](std::vector<std::pair<int, int>> buffers, Collective::Kind kind = Collective::ALL_REDUCE) {
    return getOwnedError(1, 6, [&](Instruction &i) {
      i.mutable_collective()->set_kind(kind);
      i.mutable_collective()->clear_parts();
      i.mutable_collective()->set_start(false);
      for (auto [in, out] : buffers) {
        CollectivePart &part = *i.mutable_collective()->add_parts();
        part.set_count(kind == Collective::ALL_REDUCE ? 4 : 1);
        part.set_in(in);
        part.set_out(out);
      }
    });
  };
  // Buffers: 0 w, 1 ones, 4 x, 5 y. The other program then issues something else.
  EXPECT_EQ(getPartsError({{4, 4}, {5, 5}}).substr(0, 30), "ranks 0 and 2 are in one group");
  EXPECT_EQ(getPartsError({{4, 4}, {5, 4}}), "the result in buffer 4 overlaps the result in buffer 4");
  EXPECT_EQ(getPartsError({{1, 4}, {4, 5}}), "the result in buffer 4 overlaps the operand in buffer 4");
  EXPECT_EQ(getPartsError({{1, 4}, {1, 5}}).substr(0, 30), "ranks 0 and 2 are in one group");
  EXPECT_EQ(getPartsError({{5, 5}}, Collective::ALL_GATHER), "the result in buffer 5 overlaps the operand in buffer 5");
  EXPECT_EQ(getPartsError({}), "the collective #3 has no parts");
}

TEST(Package, NobodyTouchesWhatIsInFlight) {
  auto change = [](std::function<void(Task &)> fn) {
    std::string error = getError([&](Package &p) {
      p = makePackage(Fault::None, Style::Overlapped);
      for (Program &program : *p.mutable_programs())
        fn(*program.mutable_tasks(0));
    });
    return error.substr(0, 11) == "program 0: " ? error.substr(11) : error;
  };
  // 0 grad/w, 1 start #2, 2 y, 3 sum, 4 loss, 5 wait #2, 6 update.
  EXPECT_EQ(change([](Task &) {}), "");
  EXPECT_EQ(change([](Task &t) { t.mutable_instructions()->SwapElements(5, 6); }),
            "task \"step\", instruction 5 (test_update, hand.mlir:7): buffer 8 is read while c_allreduce #2 writes it");
  EXPECT_EQ(change([](Task &t) { t.mutable_instructions(2)->mutable_matmul()->set_out(7); }),
            "task \"step\", instruction 2 (y, hand.mlir:3): buffer 7 is written while c_allreduce #2 reads it");
  EXPECT_EQ(change([](Task &t) {
              // The operands of a transfer in flight may be read.
              t.mutable_instructions(2)->mutable_copy()->set_from(7);
              t.mutable_instructions(2)->mutable_copy()->set_to(4);
            }),
            "");
  EXPECT_EQ(change([](Task &t) { t.mutable_instructions()->DeleteSubrange(4, 3); }),
            "c_allreduce #2 is started and never waited for");
  EXPECT_EQ(change([](Task &t) { t.mutable_instructions()->SwapElements(0, 5); }),
            "task \"step\", instruction 0 (grad/w, hand.mlir:6): collective #2 is waited for and not in flight");
  EXPECT_EQ(change([](Task &t) { *t.add_instructions() = t.instructions(5); }),
            "task \"step\", instruction 7 (grad/w, hand.mlir:6): collective #2 is waited for and not in flight");
  EXPECT_EQ(change([](Task &t) { t.mutable_instructions(5)->mutable_wait()->set_tag(9); }),
            "task \"step\", instruction 5 (grad/w, hand.mlir:6) waits for collective #9, which no task starts for it");
  EXPECT_EQ(
      change([](Task &t) { t.mutable_instructions(5)->mutable_wait()->set_tag(3); }),
      "task \"step\", instruction 5 (grad/w, hand.mlir:6) waits for collective #3, which is not started but executed");
  EXPECT_EQ(change([](Task &t) { t.mutable_instructions(1)->mutable_collective()->set_tag(3); }),
            "two collectives have the tag 3");
}

TEST(Package, ChainsOfStartsNeedOneWait) {
  // A second start takes the first one's result further, in place; the Wait for it stands for both.
  auto getChainError = [](bool startSecond, bool waitForFirst) {
    return getError([&](Package &p) {
      p = makePackage(Fault::None, Style::Overlapped);
      for (Program &program : *p.mutable_programs()) {
        Task &task = *program.mutable_tasks(0);
        Instruction &second = *task.mutable_instructions(4);
        second.mutable_collective()->set_start(startSecond);
        *second.mutable_collective()->mutable_parts(0) = task.instructions(1).collective().parts(0);
        second.mutable_collective()->mutable_parts(0)->set_in(second.collective().parts(0).out());
        task.mutable_instructions(5)->mutable_wait()->set_tag(waitForFirst ? 2 : 3);
        if (!startSecond && !waitForFirst)
          task.mutable_instructions()->DeleteSubrange(5, 1);
      }
    });
  };
  EXPECT_EQ(getChainError(true, false), "");
  EXPECT_EQ(getChainError(true, true),
            "program 0: task \"step\", instruction 6 (test_update, hand.mlir:7): buffer 8 is "
            "read while c_allreduce #3 writes it");
  // One that is executed is waited for at once.
  EXPECT_EQ(getChainError(false, false), "");
  EXPECT_EQ(getChainError(false, true), "");
}

TEST(Package, SupportsAreChecked) {
  auto change = [](std::function<void(Placement &)> fn) {
    return getError([&](Package &p) {
      p = makePackage(Fault::None, Style::Owned);
      fn(*p.mutable_variables(0)->mutable_placement());
    });
  };
  EXPECT_EQ(change([](Placement &p) { p.mutable_support(0)->set_axis(2); }),
            "variable \"w\": the support is over axis 2 of a mesh with 2 axes");
  EXPECT_EQ(change([](Placement &p) { p.mutable_support(0)->set_axis(1); }),
            "variable \"w\": axis \"tp\" splits the value and says which ranks hold it");
  EXPECT_EQ(change([](Placement &p) { *p.add_support() = p.support(0); }),
            "variable \"w\": the support names the axis \"dp\" twice");
  EXPECT_EQ(change([](Placement &p) { p.mutable_support(0)->clear_coordinates(); }),
            "variable \"w\": no coordinate of axis \"dp\" holds the value");
  EXPECT_EQ(change([](Placement &p) { p.mutable_support(0)->add_coordinates(2); }),
            "variable \"w\": coordinate 2 follows 1 in the support over axis \"dp\" of size 2");
  EXPECT_EQ(change([](Placement &p) { p.mutable_support(0)->add_coordinates(0); }),
            "variable \"w\": coordinate 0 follows 1 in the support over axis \"dp\" of size 2");
  EXPECT_EQ(change([](Placement &p) { p.mutable_support(0)->set_coordinates(0, 0); }),
            "rank 2 has a place for variable \"w\", which it does not hold");
}

TEST(Package, SchedulesThatNeverEndAreErrors) {
  EXPECT_EQ(getError([](Package &p) {
              Program &program = *p.mutable_programs(0);
              for (int i = 0; i != 1 << 14; ++i) {
                program.mutable_tasks(0)->add_instructions();
                ScheduleItem &item = *program.add_schedule();
                item.set_end_step(1);
                item.set_micro_batch(i + 1);
              }
              *p.mutable_programs(1) = program;
              p.set_micro_batches(program.schedule_size());
            }),
            "the schedules run 537100304 instructions, more than 268435456");
}

TEST(Package, KernelsThatAreNotThereAreErrors) {
  TempFolder folder;
  Package message = makePackage();
  getInstruction(message, 1).mutable_kernel()->set_symbol("missing");
  ASSERT_TRUE(writePackage(message, folder / "p"));
  LoadedPackage package = std::move(*LoadedPackage::open(folder / "p"));
  auto session = Session::create(package, {});
  ASSERT_FALSE(session.ok());
  EXPECT_EQ(session.status().message(), "rank 0: " + (folder / "p/kernels-test.so") + " has no kernel missing");
}

TEST(Package, ArenaBeyondMemoryIsAnError) {
  TempFolder folder;
  Package message = makePackage();
  // A value that takes so much is no damage.
  message.mutable_programs(0)->set_arena_bytes(uint64_t(1) << 60);
  Buffer &buffer = *message.mutable_programs(0)->add_buffers();
  buffer.set_bytes(uint64_t(1) << 60);
  buffer.set_dtype(F32);
  ASSERT_TRUE(writePackage(message, folder / "p"));
  LoadedPackage package = std::move(*LoadedPackage::open(folder / "p"));
  auto session = Session::create(package, {});
  ASSERT_FALSE(session.ok());
  EXPECT_EQ(session.status().message(),
            "rank 0: 1152921504606846976 bytes of memory cannot be had: Cannot allocate memory");
}

TEST(Package, DamagedOnesAreErrorsAndNotCrashes) {
  // Kernels may do what they want with the buffers they are given, so what survives the checks is not run.
  TempFolder folder;
  const Package packages[] = {makePackage(), makePackage(Fault::None, Style::Owned),
                              makeAccumulationPackage({2, 2, 3, 2})};
  Random random;
  int refused = 0;
  for (int round = 0; round != 2100; ++round) {
    if (round % 700 == 0)
      ASSERT_TRUE(writePackage(packages[round / 700], folder / "p"));
    std::string bytes = addHashes(packages[round / 700]).SerializeAsString();
    for (int64_t changes = random.pick(1, 4); changes != 0; --changes)
      bytes[random.pick(0, static_cast<int64_t>(bytes.size()) - 1)] = static_cast<char>(random.pick(0, 255));
    if (random.chance(10))
      bytes.resize(random.pick(0, static_cast<int64_t>(bytes.size())));
    folder.write("p/package.pb", sealPackage(bytes));
    refused += !LoadedPackage::open(folder / "p").ok();
  }
  EXPECT_GT(refused, 1000);
}
