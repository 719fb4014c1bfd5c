//===- Diagnostics.cpp - prints errors with their source line -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Diagnostics.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace meshwright;

/// The number of characters of a line that are shown, and how many of them before the column.
static constexpr size_t kShown = 120, kBefore = 40;

DiagnosticPrinter::DiagnosticPrinter(MLIRContext *context, llvm::raw_ostream &out)
    : ScopedDiagnosticHandler(context), out(out) {
  setHandler([this](Diagnostic &diagnostic) {
    print(diagnostic);
    return success();
  });
}

void DiagnosticPrinter::addText(StringRef name, StringRef text) {
  texts[name] = llvm::MemoryBuffer::getMemBuffer(text, name, /*RequiresNullTerminator=*/false);
}

/// The first place in a file that `loc` knows.
static FileLineColLoc findPlace(Location loc) {
  FileLineColLoc place;
  loc->walk([&](Location part) {
    place = dyn_cast<FileLineColLoc>(part);
    return place ? WalkResult::interrupt() : WalkResult::advance();
  });
  return place;
}

static StringRef stringifySeverity(DiagnosticSeverity severity) {
  switch (severity) {
  case DiagnosticSeverity::Note:
    return "note";
  case DiagnosticSeverity::Warning:
    return "warning";
  case DiagnosticSeverity::Error:
    return "error";
  case DiagnosticSeverity::Remark:
    return "remark";
  }
  return "error";
}

void DiagnosticPrinter::printExcerpt(FileLineColLoc place) {
  auto &buffer = texts[place.getFilename().getValue()];
  if (!buffer)
    if (StringRef path = place.getFilename().getValue(); llvm::sys::fs::is_regular_file(path))
      if (auto read = llvm::MemoryBuffer::getFile(path))
        buffer = std::move(*read);
  if (!buffer)
    return;
  StringRef text = buffer->getBuffer();
  for (unsigned line = 1; line < place.getLine() && !text.empty(); ++line)
    text = text.split('\n').second;
  StringRef line = text.split('\n').first.rtrim('\r');
  size_t column = place.getColumn() > 0 ? place.getColumn() - 1 : 0;
  if (line.empty() || column > line.size())
    return;
  size_t start = line.size() <= kShown || column < kBefore ? 0 : column - kBefore;
  out << "  " << (start > 0 ? "…" : "") << line.substr(start, kShown) << (start + kShown < line.size() ? "…" : "")
      << "\n";
  out.indent(2 + (start > 0) + column - start) << "^\n";
}

void DiagnosticPrinter::printLine(Location loc, StringRef severity, const std::string &message) {
  FileLineColLoc place = findPlace(loc);
  if (place)
    out << place.getFilename().getValue() << ":" << place.getLine() << ":" << place.getColumn() << ": ";
  out << severity << ": " << message << "\n";
  if (place)
    printExcerpt(place);
}

void DiagnosticPrinter::print(Diagnostic &diagnostic) {
  printLine(diagnostic.getLocation(), stringifySeverity(diagnostic.getSeverity()), diagnostic.str());
  for (Diagnostic &note : diagnostic.getNotes())
    printLine(note.getLocation(), "note", note.str());
}
