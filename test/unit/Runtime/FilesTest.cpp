//===- FilesTest.cpp - reading and writing files --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/Files.h"
#include "TempFolder.h"
#include "meshwright/runtime/MappedFiles.h"
#include <filesystem>
#include <gtest/gtest.h>
#include <sys/stat.h>

using namespace meshwright::runtime;
using namespace meshwright::test;

TEST(Files, OutputAppearsOnCommitOnly) {
  TempFolder folder;
  {
    auto file = OutputFile::create(folder / "a");
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(file->write("half").ok());
  }
  EXPECT_TRUE(folder.list().empty()) << "nothing is left of a file that was not committed";
  auto file = OutputFile::create(folder / "a");
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(file->write("whole").ok());
  EXPECT_FALSE(folder.has("a"));
  ASSERT_TRUE(file->commit().ok());
  EXPECT_EQ(folder.list(), std::vector<std::string>{"a"});
  EXPECT_EQ(folder.read("a"), "whole");
}

TEST(Files, OutputReplacesAFileOnCommitOnly) {
  TempFolder folder;
  folder.write("a", "old");
  auto file = OutputFile::create(folder / "a");
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(file->write("new").ok());
  EXPECT_EQ(folder.read("a"), "old");
  ASSERT_TRUE(file->commit().ok());
  EXPECT_EQ(folder.read("a"), "new");
}

TEST(Files, ErrorsNameThePath) {
  TempFolder folder;
  auto missing = InputFile::open(folder / "missing");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.status().message(), "cannot open " + (folder / "missing") + ": No such file or directory");
  EXPECT_EQ(missing.status().code(), Code::Input);
  EXPECT_FALSE(InputFile::open(folder / ".").ok()) << "a folder is no file";
  EXPECT_FALSE(OutputFile::create(folder / "no/such/folder").ok());
}

TEST(Files, EmptyFileHasNoBytes) {
  TempFolder folder;
  folder.write("empty", "");
  auto file = InputFile::open(folder / "empty");
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE(file->bytes().empty());
}

TEST(Files, OnlyRegularFilesAreRead) {
  TempFolder folder;
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(InputFile::open(folder / "pipe").status().message(),
            "cannot read " + (folder / "pipe") + ", which is a pipe; a regular file is wanted");
  EXPECT_EQ(InputFile::open("/dev/zero").status().message(),
            "cannot read /dev/zero, which is a device; a regular file is wanted");
  EXPECT_EQ(InputFile::open(folder / ".").status().message(),
            "cannot read " + (folder / ".") + ", which is a directory; a regular file is wanted");
}

/// Reads the last byte of a file that has lost it.
static void readLostByte(const std::string &path) {
  exitWhereFilesShrink("test");
  auto first = InputFile::open(path), second = InputFile::open(path);
  InputFile moved = std::move(*second);
  first = inputError("closed");
  std::filesystem::resize_file(path, 0);
  volatile std::byte last = moved.bytes().back();
  (void)last;
}

TEST(FilesDeathTest, FileThatShrinksIsNamedWhereTheToolAsksForIt) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  TempFolder folder;
  folder.write("a", std::string(100000, 'x'));
  EXPECT_EXIT(readLostByte(folder / "a"), testing::ExitedWithCode(4),
              "test: error: .*a became shorter while it was read");
}
