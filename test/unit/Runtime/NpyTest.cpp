//===- NpyTest.cpp - numpy's array files ----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/Npy.h"
#include <cstring>
#include <gtest/gtest.h>

using namespace meshwright;
using namespace meshwright::runtime;

static std::string makeNpy(const std::string &header, size_t dataBytes, char version = 1) {
  std::string bytes = "\x93NUMPY";
  bytes += version;
  bytes += '\0';
  uint32_t length = header.size();
  bytes.append(reinterpret_cast<const char *>(&length), version == 1 ? 2 : 4);
  return bytes + header + std::string(dataBytes, '\1');
}

static Result<TensorView> read(const std::string &bytes) { return readNpy(std::as_bytes(std::span(bytes))); }

TEST(Npy, ReadsWhatNumpyWrites) {
  std::string bytes = makeNpy("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }   \n", 48);
  auto array = read(bytes);
  ASSERT_TRUE(array.ok()) << array.status().message();
  EXPECT_EQ(array->type, F32);
  EXPECT_EQ(array->shape, (Shape{3, 4}));
  EXPECT_EQ(array->bytes.size(), 48u);
  std::string scalar = makeNpy("{'descr': '|u1', 'fortran_order': False, 'shape': (), }\n", 1, 2);
  ASSERT_TRUE(read(scalar).ok());
  EXPECT_EQ(read(scalar)->type, U8);
  std::string line = makeNpy("{'descr': '<i8', 'fortran_order': True, 'shape': (2,), }\n", 16);
  EXPECT_EQ(read(line)->type, I64);
  EXPECT_EQ(read(makeNpy("{'descr':'|b1','fortran_order':False,'shape':(1,)}", 1))->type, I1);
}

TEST(Npy, HostileFilesAreErrors) {
  const char *good = "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }";
  for (const std::string &bytes :
       {std::string(), std::string("\x93NUMPY"), makeNpy(good, 47), makeNpy(good, 49), makeNpy(good, 48, 9),
        makeNpy("{'descr': '>f4', 'fortran_order': False, 'shape': (3, 4), }", 48),
        makeNpy("{'descr': '<c8', 'fortran_order': False, 'shape': (3, 4), }", 96),
        makeNpy("{'descr': '<f4', 'fortran_order': True, 'shape': (3, 4), }", 48),
        makeNpy("{'descr': '<f4', 'fortran_order': False, 'shape': (3, -4), }", 48),
        makeNpy("{'descr': '<f4', 'fortran_order': False, 'shape': (9999999999, 9999999999), }", 48),
        makeNpy("{'descr': '<f4', 'fortran_order': False, }", 48), makeNpy("{'descr': '<f4", 48),
        makeNpy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (3, 4), }", 48), makeNpy("", 48),
        makeNpy("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), 'x': 1}", 48),
        makeNpy(good, 48).substr(0, 30)}) {
    auto array = read(bytes);
    ASSERT_FALSE(array.ok()) << bytes;
    EXPECT_EQ(array.status().code(), Code::Input);
  }
  EXPECT_EQ(read(makeNpy(good, 47)).status().message(),
            "an array of 3x4xf32 does not take the 47 bytes that follow the header");
}

TEST(Npy, TypesThatNumpyDoesNotNameAreErrors) {
  // The output of numpy 2.4 for float8_e4m3fn, bfloat16 and float8_e5m2 of ml_dtypes 0.6.
  const std::pair<const char *, const char *> written[] = {{"<V1", "f8E4M3FN"}, {"<V2", "bf16"}, {"<f1", "f8E5M2"}};
  for (auto [descr, type] : written)
    EXPECT_EQ(read(makeNpy(std::string("{'descr': '") + descr + "', 'fortran_order': False, 'shape': (0,), }", 0))
                  .status()
                  .message(),
              std::string("the elements are \"") + descr +
                  "\", of which numpy does not say what they are; the bytes alone (array.tofile) and their type, as in "
                  "--data NAME=FILE:" +
                  type + ", or a safetensors file would do");
}
