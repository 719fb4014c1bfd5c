//===- Classes.cpp - coordinates that belong together ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/Support/Classes.h"
#include "llvm/ADT/STLExtras.h"
#include <map>
#include <vector>

using namespace mlir;
using namespace meshwright;

SmallVector<CoordinateClass> meshwright::divideByLists(int64_t size, ArrayRef<Attribute> lists) {
  std::vector<std::vector<unsigned>> naming(size);
  for (auto [number, list] : llvm::enumerate(lists))
    for (int64_t coordinate : cast<DenseI64ArrayAttr>(list).asArrayRef())
      if (coordinate < size)
        naming[coordinate].push_back(number);
  std::map<std::vector<unsigned>, size_t> known;
  SmallVector<CoordinateClass> classes;
  for (auto [coordinate, numbers] : llvm::enumerate(naming)) {
    auto [place, isNew] = known.try_emplace(numbers, classes.size());
    if (isNew)
      classes.push_back({!numbers.empty(), {}});
    classes[place->second].coordinates.push_back(coordinate);
  }
  return classes;
}
