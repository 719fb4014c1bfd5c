//===- Memory.h - what is known of every byte of the arenas -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Both map ranges of addresses to something. Ranges are cut where an access begins or ends, so that a step of n
// accesses costs n log n.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_VERIFY_LIB_MEMORY_H
#define MESHWRIGHT_VERIFY_LIB_MEMORY_H

#include "Access.h"
#include <map>

namespace meshwright::verify {

/// The last writer and the time of the last read of every byte.
class WriterMap {
public:
  struct Piece {
    uint32_t writer = 0; ///< 0 for bytes that nothing has written
    uint64_t lastRead = 0;
  };

  /// Calls dies(range, piece) for what is there, and lets all of it be written by `writer`.
  template <typename Fn> void write(Range range, uint32_t writer, Fn &&dies) {
    if (range.isEmpty())
      return;
    cut(range);
    auto first = pieces.find(range.begin), last = pieces.lower_bound(range.end);
    for (auto piece = first; piece != last; ++piece)
      dies(getRange(piece), piece->second);
    pieces.erase(std::next(first), last);
    first->second = {writer, 0};
  }

  /// Calls fn(range, piece), which may change the piece, for all of the range.
  template <typename Fn> void visit(Range range, Fn &&fn) {
    if (range.isEmpty())
      return;
    cut(range);
    auto first = pieces.find(range.begin), last = pieces.lower_bound(range.end);
    for (auto piece = first; piece != last; ++piece)
      fn(getRange(piece), piece->second);
    // Neighbours that have become equal are one again.
    for (auto piece = first; piece != last;) {
      auto next = std::next(piece);
      if (next == last || next->second.writer != piece->second.writer ||
          next->second.lastRead != piece->second.lastRead) {
        piece = next;
        continue;
      }
      pieces.erase(next);
    }
  }

  /// Calls fn(range, piece) for everything.
  template <typename Fn> void visitAll(Fn &&fn) const {
    for (auto piece = pieces.begin(); std::next(piece) != pieces.end(); ++piece)
      fn(Range{piece->first, std::next(piece)->first}, piece->second);
  }

private:
  void cut(Range range) {
    cut(range.begin);
    cut(range.end);
  }
  void cut(uint64_t at) { pieces.emplace(at, std::prev(pieces.upper_bound(at))->second); }
  Range getRange(std::map<uint64_t, Piece>::iterator piece) const { return {piece->first, std::next(piece)->first}; }

  /// By where they begin; each ends where the next one does. The last one has no bytes that anything uses.
  std::map<uint64_t, Piece> pieces = {{0, {}}, {UINT64_MAX, {}}};
};

/// The numbers of launches in flight that read and write every byte.
class FlightMap {
public:
  void add(Range range, bool isWrite, int value);
  /// Returns true if a launch writes a byte of the range or, with `orRead`, reads one.
  bool isBusy(Range range, bool orRead) const;

private:
  struct Counts {
    int reads = 0, writes = 0;
    bool operator==(const Counts &) const = default;
  };
  void cut(uint64_t at) { pieces.emplace(at, std::prev(pieces.upper_bound(at))->second); }
  void join(uint64_t at);

  std::map<uint64_t, Counts> pieces = {{0, {}}};
};

} // namespace meshwright::verify

#endif
