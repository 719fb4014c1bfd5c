//===- FilesTest.cpp - reading and writing files --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/Files.h"
#include "TempFolder.h"
#include <gtest/gtest.h>

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
