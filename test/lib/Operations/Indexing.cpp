//===- Indexing.cpp - cases of gather and scatter -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Positions repeat, and some lie outside.
//
//===----------------------------------------------------------------------===//

#include "test/lib/Operations/OperationCases.h"

using namespace meshwright;
using namespace meshwright::test;

namespace {

/// The boxes of `operand` at the positions in `indices`, and their layout in `windows`, common to gather and scatter.
/// `dims` uses the names of gather.
struct Boxes {
  CaseShape operand, indices, windows, sizes;
  std::string offsetDims, droppedDims, batching, indexMap, indexVectorDim;
  double limit;
};

} // namespace

/// Rows of a matrix: an embedding.
static Boxes drawRows(CaseSource &source) {
  int64_t rows = std::max<int64_t>(source.size(), 1), columns = source.size();
  CaseShape batch = source.shape(2);
  return {{rows, columns},
          {batch[0], batch[1], 1},
          {batch[0], batch[1], columns},
          {1, columns},
          "[2]",
          "[0]",
          "",
          "[0]",
          "2",
          static_cast<double>(rows)};
}

/// Boxes at positions in both dimensions, the index vector first.
static Boxes drawBoxes(CaseSource &source) {
  CaseShape shape = source.shape(2);
  int64_t count = source.size(), height = source.pick(std::min<int64_t>(shape[0], 1), shape[0]),
          width = source.pick(std::min<int64_t>(shape[1], 1), shape[1]);
  return {shape,
          {2, count},
          {count, height, width},
          {height, width},
          "[1, 2]",
          "",
          "",
          "[0, 1]",
          "0",
          static_cast<double>(std::max(shape[0], shape[1]))};
}

/// An element of every row, as take_along_axis does.
static Boxes drawAlong(CaseSource &source) {
  int64_t rows = std::max<int64_t>(source.size(), 1), columns = std::max<int64_t>(source.size(), 1),
          count = source.size();
  return {{rows, columns},
          {rows, count, 1},
          {rows, count},
          {1, 1},
          "",
          "[1]",
          "[0]",
          "[1]",
          "2",
          static_cast<double>(columns)};
}

static std::string printDims(const Boxes &boxes, const char *offset, const char *dropped, const char *map) {
  std::string text = "<";
  if (!boxes.offsetDims.empty())
    text += std::string(offset) + " = " + boxes.offsetDims + ", ";
  if (!boxes.droppedDims.empty())
    text += std::string(dropped) + " = " + boxes.droppedDims + ", ";
  if (!boxes.batching.empty())
    text += "operandBatchingDims = " + boxes.batching + ", indicesBatchingDims = " + boxes.batching + ", ";
  return text + map + " = " + boxes.indexMap + ", indexVectorDim = " + boxes.indexVectorDim + ">";
}

using DrawBoxes = Boxes (*)(CaseSource &);

static CaseFamily makeGather(const std::string &what, DrawBoxes draw) {
  return {"net.gather", what, [draw](CaseSource &source) {
            Boxes boxes = draw(source);
            return OperationCase{{{boxes.operand}, {boxes.indices, "i32", -1, boxes.limit}},
                                 "net.gather %a, %b " +
                                     printDims(boxes, "offsetDims", "collapsedDims", "startIndexMap") +
                                     " sizes = " + printList(boxes.sizes) + " : " + printType(boxes.operand) + ", " +
                                     printType(boxes.indices, "i32") + " -> " + printType(boxes.windows)};
          }};
}

static CaseFamily makeScatter(const std::string &kind, const std::string &what, DrawBoxes draw) {
  return {"net.scatter", kind + " " + what,
          [kind, draw](CaseSource &source) {
            Boxes boxes = draw(source);
            std::string dims = printDims(boxes, "updateWindowDims", "insertedDims", "scatterDimsToOperandDims");
            CaseOperand updates{boxes.windows};
            updates.isApart = true;
            return OperationCase{{{boxes.operand}, {boxes.indices, "i32", -1, boxes.limit}, updates},
                                 "net.scatter " + kind + " %a, %b, %c " + dims + " : " + printType(boxes.operand) +
                                     ", " + printType(boxes.indices, "i32") + ", " + printType(boxes.windows) + " -> " +
                                     printType(boxes.operand)};
          },
          kind != "multiply"};
}

void test::addIndexingFamilies(std::vector<CaseFamily> &families) {
  static constexpr std::pair<const char *, DrawBoxes> kBoxes[] = {
      {"rows", drawRows}, {"boxes", drawBoxes}, {"along a dimension", drawAlong}};
  for (auto [what, draw] : kBoxes)
    families.push_back(makeGather(what, draw));
  for (const char *kind : {"add", "assign", "multiply", "max", "min"})
    for (auto [what, draw] : kBoxes)
      families.push_back(makeScatter(kind, what, draw));
}
