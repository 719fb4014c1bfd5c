//===- SafeTensorsTest.cpp - the safetensors format -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/SafeTensors.h"
#include "TempFolder.h"
#include "test/unit/Random.h"
#include <cstring>
#include <gtest/gtest.h>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::test;

/// A file with this header and that many bytes of data.
static std::string makeFile(const std::string &header, size_t dataBytes) {
  uint64_t length = header.size();
  return std::string(reinterpret_cast<const char *>(&length), 8) + header + std::string(dataBytes, '\1');
}

/// The error that opening such a file gives, without the path.
static std::string getError(const std::string &bytes) {
  TempFolder folder;
  folder.write("a", bytes);
  auto file = SafeTensors::open(folder / "a");
  if (file.ok())
    return "";
  EXPECT_EQ(file.status().code(), Code::Input);
  return file.status().message().substr((folder / "a").size() + 2);
}

TEST(SafeTensors, ReadsWhatItWrites) {
  TempFolder folder;
  std::string first(24, 'x'), second(2, 'y');
  auto writer =
      SafeTensorsWriter::create(folder / "a", {{"p.w\"\xc3\xa9", F32, {2, 3}}, {"flag", I1, {2}}, {"none", F64, {0}}});
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE(writer->append(std::as_bytes(std::span(first))).ok());
  ASSERT_TRUE(writer->append(std::as_bytes(std::span(second))).ok());
  ASSERT_TRUE(writer->append({}).ok());
  ASSERT_TRUE(writer->commit().ok());
  auto file = SafeTensors::open(folder / "a");
  ASSERT_TRUE(file.ok()) << file.status().message();
  const TensorView *w = file->find("p.w\"\xc3\xa9");
  ASSERT_NE(w, nullptr);
  EXPECT_EQ(w->type, F32);
  EXPECT_EQ(w->shape, (Shape{2, 3}));
  EXPECT_EQ(std::memcmp(w->bytes.data(), first.data(), 24), 0);
  EXPECT_EQ(file->find("flag")->type, I1);
  EXPECT_EQ(file->find("none")->bytes.size(), 0u);
  EXPECT_EQ(file->find("other"), nullptr);
}

TEST(SafeTensors, MetadataIsNoTensor) {
  EXPECT_EQ(
      getError(makeFile(
          R"({"__metadata__": {"format": "pt"}, "a": {"dtype": "F32", "shape": [], "data_offsets": [0, 4]}})", 4)),
      "");
}

TEST(SafeTensors, HeaderLengthIsChecked) {
  EXPECT_EQ(getError("1234"), "the file has 4 bytes, fewer than the 8 of a header's length");
  std::string hostile(16, '\xff');
  EXPECT_EQ(getError(hostile), "the header is 18446744073709551615 bytes long but the file has 8 after the length (and "
                               "100000000 are the most allowed)");
  EXPECT_EQ(getError(makeFile("{}", 0).substr(0, 9)),
            "the header is 2 bytes long but the file has 1 after the length (and 100000000 are the most allowed)");
}

TEST(SafeTensors, HeaderIsAnObjectOfTensors) {
  EXPECT_EQ(getError(makeFile("[]", 0)), "the header is JSON of type array and not an object");
  EXPECT_EQ(getError(makeFile(R"({"a": 1})", 0)), "tensor \"a\" is described by number and not by an object");
  EXPECT_EQ(getError(makeFile(R"({"a": {"dtype": "F32", "shape": [1]}})", 4)), "tensor \"a\" has no data_offsets");
  EXPECT_EQ(getError(makeFile(R"({"a": {}, "a": {}})", 0)), "the key \"a\" occurs twice in one object");
}

TEST(SafeTensors, TypeAndShapeAreChecked) {
  auto entry = [](const std::string &type, const std::string &shape, const std::string &offsets, size_t bytes) {
    return makeFile("{\"a\": {\"dtype\": " + type + ", \"shape\": " + shape + ", \"data_offsets\": " + offsets + "}}",
                    bytes);
  };
  EXPECT_EQ(getError(entry("\"F8_E8M0\"", "[4]", "[0, 4]", 4)),
            "tensor \"a\" has dtype \"F8_E8M0\", which is none of F32, F64, BF16, F16, BOOL, I8 to I64, U8 to U64, "
            "F8_E4M3, F8_E5M2, F8_E4M3FNUZ, F8_E5M2FNUZ");
  EXPECT_EQ(getError(entry("7", "[4]", "[0, 4]", 4)).substr(0, 22), "tensor \"a\" has dtype 7");
  EXPECT_EQ(getError(entry("\"F32\"", "4", "[0, 4]", 4)), "tensor \"a\" has shape 4, which is no array");
  EXPECT_EQ(getError(entry("\"F32\"", "[-4]", "[0, 4]", 4)), "tensor \"a\" has size -4 in its shape, which is no size");
  EXPECT_EQ(getError(entry("\"F32\"", "[1.5]", "[0, 4]", 4)),
            "tensor \"a\" has size 1.5 in its shape, which is no size");
  EXPECT_EQ(getError(entry("\"F32\"", "[4294967296, 4294967296, 4]", "[0, 4]", 4)),
            "tensor \"a\" has shape 4294967296x4294967296x4, whose bytes cannot be counted in 63 bits");
  EXPECT_EQ(getError(entry("\"F32\"", "[2, 3]", "[0, 20]", 20)),
            "tensor \"a\" of 2x3xf32 takes 24 bytes but its data_offsets span 20");
  EXPECT_EQ(getError(entry("\"F32\"", "[2]", "[0]", 8)),
            "tensor \"a\" has data_offsets [0], which are no range of bytes");
  EXPECT_EQ(getError(entry("\"F32\"", "[2]", "[8, 0]", 8)),
            "tensor \"a\" has data_offsets [8,0], which are no range of bytes");
  EXPECT_EQ(getError(entry("\"F32\"", "[2]", "[18446744073709551612, 4]", 8)),
            "tensor \"a\" has data_offsets [18446744073709551612,4], which are no range of bytes");
  EXPECT_EQ(getError(entry("\"F32\"", "[2]", "[0, 8]", 7)),
            "tensor \"a\" ends at byte 8 of the data, of which the file has 7");
}

TEST(SafeTensors, DataIsCoveredOnce) {
  auto two = [](const std::string &a, const std::string &b, size_t bytes) {
    return makeFile(R"({"a": {"dtype": "U8", "shape": [4], "data_offsets": )" + a +
                        R"(}, "b": {"dtype": "U8", "shape": [4], "data_offsets": )" + b + "}}",
                    bytes);
  };
  EXPECT_EQ(getError(two("[4, 8]", "[0, 4]", 8)), "");
  EXPECT_EQ(getError(two("[0, 4]", "[3, 7]", 7)),
            "tensor \"b\" begins at byte 3 but tensor \"a\" before it ends at byte 4");
  EXPECT_EQ(getError(two("[0, 4]", "[0, 4]", 4)),
            "tensor \"b\" begins at byte 0 but tensor \"a\" before it ends at byte 4");
  EXPECT_EQ(getError(two("[0, 4]", "[5, 9]", 9)), "bytes 4 to 5 before tensor \"b\" belong to no tensor");
  EXPECT_EQ(getError(two("[0, 4]", "[4, 8]", 9)), "the tensors end at byte 8 of the data but the file has 9");
}

TEST(SafeTensors, DamagedFilesAreErrorsAndNotCrashes) {
  std::string good = makeFile(
      R"({"a": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, "b": {"dtype": "I64", "shape": [], "data_offsets": [24, 32]}})",
      32);
  ASSERT_EQ(getError(good), "");
  for (size_t length = 0; length < good.size(); length += 3)
    EXPECT_NE(getError(good.substr(0, length)), "") << length;
  Random random;
  int refused = 0;
  for (int round = 0; round != 300; ++round) {
    std::string bytes = good;
    for (int64_t changes = random.pick(1, 3); changes != 0; --changes)
      bytes[random.pick(0, static_cast<int64_t>(bytes.size()) - 33)] = static_cast<char>(random.pick(0, 255));
    refused += !getError(bytes).empty();
  }
  EXPECT_GT(refused, 150);
}

TEST(SafeTensors, NamesAreDistinct) {
  TempFolder folder;
  std::vector<SafeTensorsEntry> twice = {{"a", F32, {2}}, {"a", F32, {3}}}, reserved = {{"__metadata__", F32, {2}}};
  EXPECT_EQ(SafeTensorsWriter::create(folder / "a", twice).status().message(), "two tensors are called \"a\"");
  EXPECT_EQ(SafeTensorsWriter::create(folder / "a", reserved, {{"step", "3"}}).status().message(),
            "two tensors are called \"__metadata__\"");
  EXPECT_FALSE(std::filesystem::exists(folder / "a"));
}
