//===- Dims.cpp - placements in the words of users ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Dims.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;

FailureOr<SmallVector<DigitsAttr>> dist::parseDims(StringRef text, const Mesh &mesh, MLIRContext *context,
                                                   llvm::function_ref<InFlightDiagnostic()> emitError) {
  StringRef body = text.trim();
  if (!body.consume_front("[") || !body.consume_back("]"))
    return emitError() << "\"" << text << "\" is not a list of dimensions; an example is \"[3 tp, -]\"";
  SmallVector<DigitsAttr> dims;
  SmallVector<StringRef> parts;
  if (!body.trim().empty())
    body.split(parts, ',');
  for (StringRef part : parts) {
    SmallVector<StringRef> words;
    SmallVector<DigitAttr> digits;
    part.trim().split(words, ' ', -1, /*KeepEmpty=*/false);
    for (size_t index = 0; index < words.size(); ++index) {
      int64_t number;
      auto name = StringAttr::get(context, words[index]);
      bool by = index + 2 < words.size() && words[index + 1] == "by";
      if (words[index] == "-" && words.size() == 1)
        continue;
      if (by && !words[index + 2].getAsInteger(10, number)) {
        digits.push_back(DigitAttr::getChecked(emitError, context, name, std::optional<int64_t>(number)));
        index += 2;
      } else if (!words[index].getAsInteger(10, number)) {
        digits.push_back(DigitAttr::getChecked(emitError, context, StringAttr(), std::optional<int64_t>(number)));
      } else if (mesh.find(words[index])) {
        digits.push_back(DigitAttr::getAxis(name));
      } else {
        return emitError() << "the mesh has no axis \"" << words[index] << "\"";
      }
      if (!digits.back())
        return failure();
    }
    if (words.empty())
      return emitError() << "\"" << text << "\" has an empty dimension; one that is not split is \"-\"";
    dims.push_back(DigitsAttr::get(context, digits));
  }
  return dims;
}
