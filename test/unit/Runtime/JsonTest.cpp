//===- JsonTest.cpp - JSON without exceptions -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/Json.h"
#include <gtest/gtest.h>

using namespace meshwright::runtime;

TEST(Json, ParsesAllKinds) {
  auto json = parseJson(R"({"a": [1, -2, 2.5, true, null, "x\u00e9"], "b": {"c": {}}, "d": 18446744073709551615})");
  ASSERT_TRUE(json.ok()) << json.status().message();
  EXPECT_EQ(json->at("a").at(0).get<uint64_t>(), 1u);
  EXPECT_EQ(json->at("a").at(1).get<int64_t>(), -2);
  EXPECT_EQ(json->at("a").at(5).get<std::string>(), "x\xc3\xa9");
  EXPECT_TRUE(json->at("b").at("c").empty());
  EXPECT_EQ(json->at("d").get<uint64_t>(), UINT64_MAX);
}

TEST(Json, MalformedTextIsAnError) {
  for (const char *text : {"", "{", "[1,]", "{\"a\":}", "{\"a\" 1}", "tru", "\"\xff\"", "[1] 2", "1e999", "{1:2}"}) {
    auto json = parseJson(text);
    ASSERT_FALSE(json.ok()) << text;
    EXPECT_EQ(json.status().code(), Code::Input);
  }
  EXPECT_EQ(parseJson("[1, x]").status().message(), "byte 5 of the JSON is not what its grammar wants there");
}

TEST(Json, KeyTwiceIsAnError) {
  EXPECT_EQ(parseJson(R"({"a": 1, "b": 2, "a": 3})").status().message(), "the key \"a\" occurs twice in one object");
  EXPECT_TRUE(parseJson(R"({"a": {"a": 1}, "b": {"a": 1}})").ok());
}

TEST(Json, DepthIsBounded) {
  EXPECT_TRUE(parseJson(std::string(64, '[') + std::string(64, ']')).ok());
  EXPECT_EQ(parseJson(std::string(100000, '[')).status().message(), "the JSON is nested deeper than 64");
}
