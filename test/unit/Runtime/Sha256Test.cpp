//===- Sha256Test.cpp - published digests ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sources: the messages of SHA-256 are those of NIST's "Examples with Intermediate Values" and FIPS 180-2, appendix B;
// those of HMAC are test cases 1, 2, 3, 6 and 7 of RFC 4231.
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/Sha256.h"
#include "meshwright/runtime/EscapeText.h"
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <string>

using namespace meshwright::runtime;

static std::string toHex(const Digest &digest) {
  std::string text;
  for (unsigned char byte : digest)
    text += fmt::format("{:02x}", byte);
  return text;
}

static std::string hash(std::string_view bytes) { return toHex(Sha256().add(bytes).finish()); }

TEST(Sha256, PublishedDigests) {
  EXPECT_EQ(hash(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hash("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hash("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hash(std::string(1000000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, PartsMakeTheWhole) {
  std::string text;
  for (int i = 0; i != 200; ++i)
    text += static_cast<char>(i);
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    Sha256 parts;
    parts.add(std::string_view(text).substr(0, cut)).add(std::string_view(text).substr(cut));
    EXPECT_EQ(toHex(parts.finish()), hash(text)) << cut;
  }
}

TEST(Sha256, PublishedHmacs) {
  auto mac = [](std::string_view key, std::string_view message) { return toHex(computeHmac(key, message)); };
  EXPECT_EQ(mac(std::string(20, '\x0b'), "Hi There"),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(mac("Jefe", "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(mac(std::string(20, '\xaa'), std::string(50, '\xdd')),
            "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
  std::string longKey(131, '\xaa');
  EXPECT_EQ(mac(longKey, "Test Using Larger Than Block-Size Key - Hash Key First"),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
  EXPECT_EQ(mac(longKey, "This is a test using a larger than block-size key and a larger than block-size data. The key "
                         "needs to be hashed before being used by the HMAC algorithm."),
            "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2");
}

TEST(Sha256, Comparison) {
  EXPECT_TRUE(areEqualInConstantTime("", ""));
  EXPECT_TRUE(areEqualInConstantTime("abc", "abc"));
  for (const char *other : {"abd", "bbc", "ab", "abcd", ""})
    EXPECT_FALSE(areEqualInConstantTime("abc", other)) << other;
}

// Tests that nothing of a text reaches a terminal but what it may print.
TEST(EscapeText, PrintsOnlyCharacters) {
  EXPECT_EQ(escapeText("rank 3: a\\b"), "rank 3: a\\b");
  EXPECT_EQ(escapeText("gr\xc3\xb6\xc3\x9f\x65 \xe2\x86\x92 \xf0\x9f\x98\x80"),
            "gr\xc3\xb6\xc3\x9f\x65 \xe2\x86\x92 \xf0\x9f\x98\x80");
  EXPECT_EQ(escapeText("\x1b[31mred\n\x7f"), "\\x1b[31mred\\x0a\\x7f");
  // A control character of Latin-1, a byte alone, a character that is cut off, one that is longer than it need be, half
  // of a pair, and one beyond the last.
  EXPECT_EQ(escapeText("\xc2\x9b"), "\\xc2\\x9b");
  EXPECT_EQ(escapeText("\x80-\xe2\x86"), "\\x80-\\xe2\\x86");
  EXPECT_EQ(escapeText("\xc0\x8a"), "\\xc0\\x8a");
  EXPECT_EQ(escapeText("\xed\xa0\x80"), "\\xed\\xa0\\x80");
  EXPECT_EQ(escapeText("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
  EXPECT_EQ(escapeText("12345", 4), "1234...");
}
