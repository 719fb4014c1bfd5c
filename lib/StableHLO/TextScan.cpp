//===- TextScan.cpp - checks of a text before MLIR parses it --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MLIR's parser recurses on brackets, and so do traversals of nested attributes, so the nesting of a text is limited
// here, before a stack overflows. One pass over the bytes finds strings, comments, brackets and aliases as the parser's
// lexer does. Errors in text that is not MLIR at all are left to the parser.
//
//===----------------------------------------------------------------------===//

#include "meshwright/StableHLO/Text.h"
#include "meshwright/Support/Types.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/ConvertUTF.h"
#include <array>
#include <cstring>

using namespace mlir;
using namespace meshwright;

/// The limit on nested brackets. Exports of JAX stay below 20.
static constexpr unsigned kMaxDepth = 256;
/// The limit with the brackets of aliases counted at their uses: a call stack is a chain of such locations.
static constexpr unsigned kMaxAliasDepth = 4096;
/// The limit on affine maps, whose parser recurses on every operator. Exported graphs have no affine maps, and those of
/// later stages are short.
static constexpr size_t kMaxAffineBytes = 4096;

namespace {

/// A text and the locations of errors in it.
class Text {
public:
  Text(StringRef bytes, StringRef name, MLIRContext *context) : bytes(bytes), name(name), context(context) {}

  InFlightDiagnostic error(size_t at) const {
    StringRef before = bytes.take_front(at);
    size_t line = before.count('\n') + 1, column = at - (before.rfind('\n') + 1) + 1;
    return emitError(FileLineColLoc::get(context, name, line, column));
  }

  StringRef bytes;

private:
  StringRef name;
  MLIRContext *context;
};

/// Checks how deeply a text nests.
class NestingScan {
public:
  explicit NestingScan(const Text &text) : text(text), bytes(text.bytes) {}

  LogicalResult run() {
    for (skip(); at < bytes.size(); skip())
      if (failed(step()))
        return failure();
    return checkAffine();
  }

private:
  /// Advances to the next byte that matters to `step`; most bytes do not.
  void skip() {
    static constexpr auto isMeant = [] {
      std::array<bool, 256> table = {};
      for (char c : {'"', '/', '-', '(', '[', '{', '<', ')', ']', '}', '>', '#', '!', 'a'})
        table[static_cast<unsigned char>(c)] = true;
      return table;
    }();
    while (at < bytes.size() && !isMeant[static_cast<unsigned char>(bytes[at])])
      ++at;
  }

  LogicalResult step() {
    char c = bytes[at];
    switch (c) {
    case '"':
      skipString();
      return success();
    case '/':
      at = bytes.substr(at).starts_with("//") ? std::min(bytes.find('\n', at), bytes.size()) : at + 1;
      return success();
    case '-':
      // The arrow is not a bracket.
      at += bytes.substr(at).starts_with("->") ? 2 : 1;
      return success();
    case '(':
    case '[':
    case '{':
    case '<':
      return open(c);
    case ')':
    case ']':
    case '}':
    case '>':
      return close(c);
    case '#':
    case '!':
      return visitAlias();
    case 'a':
      visitWord();
      return success();
    default:
      ++at;
      return success();
    }
  }

  /// A string ends at the end of its line at the latest; the parser reports that.
  void skipString() {
    for (++at; at < bytes.size() && bytes[at] != '"' && bytes[at] != '\n'; ++at)
      if (bytes[at] == '\\')
        ++at;
    ++at;
  }

  LogicalResult open(char bracket) {
    if (brackets.size() == kMaxDepth)
      return text.error(at) << "brackets are nested " << kMaxDepth + 1 << " deep here, and " << kMaxDepth
                            << " are the most that can be read";
    brackets.push_back(bracket);
    ++at;
    return bracket == '<' ? checkShape() : success();
  }

  /// A shape such as `4x8x` may follow the bracket. The parser's lexer looks ahead over all of it for every dimension.
  LogicalResult checkShape() const {
    int64_t rank = 0;
    for (size_t next = at; next < bytes.size() && (llvm::isDigit(bytes[next]) || bytes[next] == 'x'); ++next)
      if (bytes[next] == 'x' && ++rank > kMaxRank)
        return text.error(at) << "a shape has more than " << kMaxRank << " dimensions here, the most of a tensor";
    return success();
  }

  /// A bracket that does not match the last one closes nothing; the parser reports that.
  LogicalResult close(char bracket) {
    if (failed(checkAffine()))
      return failure();
    static constexpr StringRef kOpening = "([{<", kClosing = ")]}>";
    if (!brackets.empty() && brackets.back() == kOpening[kClosing.find(bracket)])
      brackets.pop_back();
    if (brackets.size() <= affineDepth)
      affineBegin = std::nullopt;
    ++at;
    return success();
  }

  static bool isPartOfName(char c) { return llvm::isAlnum(c) || c == '_' || c == '$' || c == '.' || c == '-'; }

  /// `#name = ` at the top level defines an alias; `#name` elsewhere refers to an earlier definition.
  LogicalResult visitAlias() {
    StringRef alias = bytes.substr(at, 1 + bytes.substr(at + 1).take_while(isPartOfName).size());
    StringRef rest = bytes.substr(at + alias.size()).ltrim(" \t");
    if (brackets.empty() && rest.starts_with("=")) {
      defined = &depths[alias];
      *defined = 0;
      at += alias.size();
      return success();
    }
    auto known = depths.find(alias);
    unsigned depth = brackets.size() + 1 + (known == depths.end() ? 0 : known->second);
    if (depth > kMaxAliasDepth)
      return text.error(at) << "alias " << alias << " is " << depth
                            << " brackets deep with the aliases in it, and at most " << kMaxAliasDepth
                            << " can be read";
    if (defined && (known == depths.end() || &known->second != defined))
      *defined = std::max(*defined, depth);
    at += alias.size();
    return success();
  }

  /// Affine maps and sets begin as `affine_map<`.
  void visitWord() {
    if (!bytes.substr(at).starts_with("affine_")) {
      ++at;
      return;
    }
    StringRef word = bytes.substr(at).take_while(isPartOfName);
    if (!affineBegin && (word == "affine_map" || word == "affine_set")) {
      affineBegin = at;
      affineDepth = brackets.size();
    }
    at += word.size();
  }

  LogicalResult checkAffine() {
    if (!affineBegin || at - *affineBegin <= kMaxAffineBytes)
      return success();
    return text.error(*affineBegin) << "an affine map or set goes on for more than " << kMaxAffineBytes
                                    << " bytes, which are the most that can be read";
  }

  const Text &text;
  StringRef bytes;
  size_t at = 0;
  SmallVector<char, kMaxDepth> brackets;
  /// The nesting depth of each alias defined so far.
  llvm::StringMap<unsigned> depths;
  /// The depth of the last defined alias; text between two definitions counts for the first.
  unsigned *defined = nullptr;
  /// The start of the affine map around this place, and the brackets around that map.
  std::optional<size_t> affineBegin;
  size_t affineDepth = 0;
};

} // namespace

/// Recognizes other file formats that exporters write, and says how to export text.
static std::optional<StringRef> recognize(StringRef bytes) {
  if (bytes.starts_with("ML\xEFR"))
    return "the file is MLIR bytecode, as a serialized export is; write the text of it, which as_text() of JAX's "
           "lowered "
           "function and `stablehlo-translate --deserialize` give";
  if (bytes.starts_with("HloModule"))
    return "the file is HLO, to which XLA compiles StableHLO; write StableHLO, which as_text() of JAX's lowered "
           "function "
           "gives";
  if (bytes.starts_with("\xFF\xFE") || bytes.starts_with("\xFE\xFF"))
    return "the text is UTF-16; write it as UTF-8";
  return std::nullopt;
}

/// The position of the first byte from `at` on that is not ASCII; texts hardly have any.
static size_t findWide(StringRef bytes, size_t at) {
  for (uint64_t word; at + sizeof(word) <= bytes.size(); at += sizeof(word)) {
    std::memcpy(&word, bytes.data() + at, sizeof(word));
    if (word & 0x8080808080808080)
      break;
  }
  while (at < bytes.size() && !(bytes[at] & 0x80))
    ++at;
  return at;
}

/// The position of the first byte that is not part of a UTF-8 character.
static std::optional<size_t> findIllegal(StringRef bytes) {
  const auto *begin = reinterpret_cast<const llvm::UTF8 *>(bytes.begin());
  const auto *end = reinterpret_cast<const llvm::UTF8 *>(bytes.end());
  for (size_t at = findWide(bytes, 0); at < bytes.size(); at = findWide(bytes, at)) {
    if (!llvm::isLegalUTF8Sequence(begin + at, end))
      return at;
    at += llvm::getNumBytesForUTF8(begin[at]);
  }
  return std::nullopt;
}

static LogicalResult checkBytes(const Text &text) {
  if (std::optional<StringRef> problem = recognize(text.bytes))
    return text.error(0) << *problem;
  if (size_t zero = text.bytes.find('\0'); zero != StringRef::npos)
    return text.error(zero) << "the text has a byte 0";
  if (std::optional<size_t> illegal = findIllegal(text.bytes))
    return text.error(*illegal) << "byte 0x" << llvm::utohexstr(static_cast<uint8_t>(text.bytes[*illegal]))
                                << " is not UTF-8 here";
  return success();
}

LogicalResult importer::checkText(StringRef bytes, StringRef name, MLIRContext *context) {
  Text text(bytes, name, context);
  return success(succeeded(checkBytes(text)) && succeeded(NestingScan(text).run()));
}
