//===- PlacementTest.cpp - placements against a model by digits -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The model reads the attribute's text form literally: an index is taken apart digit by digit, major to minor. It
// shares no arithmetic with the placement, which keeps (extent, stride) per split digit.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Placement.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "test/unit/Random.h"
#include <gtest/gtest.h>
#include <map>

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;
using meshwright::test::Random;

namespace {

/// One digit as written: a plain number of parts, or an axis with the size of its parts.
struct Digit {
  std::optional<Axis> axis;
  int64_t count;  ///< Plain: the number of parts. Axis: the axis' size.
  int64_t stride; ///< How many indices one part has.
  bool by;        ///< Axis: whether the part's size is spelled out.
};

/// A dimension taken apart.
struct Dim {
  int64_t size;
  std::vector<Digit> digits;

  /// The place of index `index`: sets the coordinate on every axis of this dimension and returns the position in the
  /// local array.
  int64_t locate(int64_t index, std::vector<int64_t> &coordinates) const {
    int64_t rest = index, local = 0, extent = size;
    for (const Digit &digit : digits) {
      int64_t value = rest / digit.stride;
      rest %= digit.stride;
      if (digit.axis)
        coordinates[*digit.axis] = value;
      else
        local = local * digit.count + value;
      extent = digit.stride;
    }
    return local * extent + rest;
  }
  int64_t getLocalSize() const {
    int64_t product = 1, extent = size;
    for (const Digit &digit : digits) {
      product *= digit.axis ? 1 : digit.count;
      extent = digit.stride;
    }
    return product * extent;
  }
};

/// A random value on a random mesh.
struct Case {
  MLIRContext &context;
  Mesh mesh;
  SmallVector<int64_t> shape;
  std::vector<Dim> dims;
  SmallVector<Attribute> partialAxes;

  MappingAttr getAttr() const {
    Builder builder(&context);
    SmallVector<DigitsAttr> dimAttrs;
    for (const Dim &dim : dims) {
      SmallVector<DigitAttr> digits;
      for (const Digit &digit : dim.digits) {
        if (!digit.axis) {
          digits.push_back(DigitAttr::getPlain(&context, digit.count));
          continue;
        }
        digits.push_back(DigitAttr::getAxis(builder.getStringAttr(mesh.getName(*digit.axis)),
                                            digit.by ? std::optional(digit.stride) : std::nullopt));
      }
      dimAttrs.push_back(DigitsAttr::get(&context, digits));
    }
    return MappingAttr::get(&context, dimAttrs, ReduceKind::Sum, builder.getArrayAttr(partialAxes),
                            builder.getDictionaryAttr({}));
  }
};

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

Dim makeDim(Random &random, const Mesh &mesh, std::vector<Axis> &free) {
  Dim dim{random.pick(1, 30), {}};
  int64_t extent = dim.size;
  while (random.chance(60)) {
    if (random.chance(40) || free.empty()) {
      std::vector<int64_t> divisors;
      for (int64_t count = 1; count <= extent; ++count)
        if (extent % count == 0)
          divisors.push_back(count);
      int64_t count = random.choose(divisors);
      dim.digits.push_back({std::nullopt, count, extent / count, false});
    } else {
      Axis axis = free.back();
      free.pop_back();
      int64_t n = mesh.getSize(axis), stride = ceilDiv(extent, n);
      bool by = random.chance(30);
      if (by)
        stride = random.pick(stride, extent);
      dim.digits.push_back({axis, n, stride, by});
    }
    extent = dim.digits.back().stride;
  }
  return dim;
}

Case makeCase(Random &random, MLIRContext &context) {
  std::vector<int64_t> sizes;
  std::vector<Axis> free;
  for (Axis axis = 0; axis < 3; ++axis) {
    sizes.push_back(random.pick(1, 5));
    free.insert(free.begin() + random.pick(0, axis), axis);
  }
  Case result{context, Mesh({"a", "b", "c"}, sizes), {}, {}, {}};
  for (int64_t rank = random.pick(0, 3); rank > 0; --rank) {
    result.dims.push_back(makeDim(random, result.mesh, free));
    result.shape.push_back(result.dims.back().size);
  }
  for (Axis axis : free)
    if (random.chance(30))
      result.partialAxes.push_back(StringAttr::get(&context, result.mesh.getName(axis)));
  return result;
}

/// A placement's digits in a failure message: `[axis/extent/stride ...] ...`.
std::string describe(const Placement &placement) {
  std::string text;
  for (const auto &splits : placement.dims) {
    text += "[ ";
    for (const Split &split : splits)
      text +=
          std::to_string(split.axis) + "/" + std::to_string(split.extent) + "/" + std::to_string(split.stride) + " ";
    text += "] ";
  }
  return text;
}

class PlacementTest : public ::testing::Test {
protected:
  PlacementTest() { context.loadDialect<DistDialect>(); }

  /// Resolves an attribute that has to be right.
  Placement resolve(MappingAttr attr, const Mesh &mesh, ArrayRef<int64_t> shape) {
    FailureOr<Placement> placement =
        Placement::resolve(attr, mesh, shape, [&] { return emitError(UnknownLoc::get(&context)); });
    EXPECT_TRUE(succeeded(placement));
    return succeeded(placement) ? *placement : Placement::replicated(shape.size());
  }
  /// A mapping of one dimension.
  MappingAttr makeMapping(ArrayRef<DigitAttr> digits) {
    Builder builder(&context);
    return MappingAttr::get(&context, DigitsAttr::get(&context, digits), ReduceKind::Sum, builder.getArrayAttr({}),
                            builder.getDictionaryAttr({}));
  }
  DigitAttr axis(StringRef name) { return by(name, std::nullopt); }
  DigitAttr plain(int64_t count) { return DigitAttr::getPlain(&context, count); }
  DigitAttr by(StringRef name, std::optional<int64_t> part) {
    return DigitAttr::getAxis(StringAttr::get(&context, name), part);
  }

  MLIRContext context;
};

// Tests that the attribute made from a placement resolves to that placement, and that resolving is idempotent.
TEST_F(PlacementTest, survivesTheAttribute) {
  Random random;
  for (int64_t round = 0; round < 500; ++round) {
    SCOPED_TRACE(random.describe(round));
    Case test = makeCase(random, context);
    Placement placement = resolve(test.getAttr(), test.mesh, test.shape);
    MappingAttr attr = placement.toAttr(&context, test.mesh, test.shape);
    EXPECT_EQ(resolve(attr, test.mesh, test.shape), placement);
    EXPECT_EQ(resolve(attr, test.mesh, test.shape).toAttr(&context, test.mesh, test.shape), attr);
  }
}

// Tests that every index lies exactly where the digits say, and nowhere else: uneven sizes included.
TEST_F(PlacementTest, holdsEveryIndexOnce) {
  Random random(1);
  int64_t uneven = 0;
  for (int64_t round = 0; round < 500; ++round) {
    SCOPED_TRACE(random.describe(round));
    Case test = makeCase(random, context);
    Placement placement = resolve(test.getAttr(), test.mesh, test.shape);
    SmallVector<int64_t> local = placement.getLocalShape(test.shape);
    for (auto [dim, model] : llvm::enumerate(test.dims)) {
      ASSERT_EQ(local[dim], model.getLocalSize());
      std::map<std::vector<int64_t>, std::map<int64_t, int64_t>> expected;
      std::vector<int64_t> coordinates(3, 0);
      for (int64_t index = 0; index < model.size; ++index) {
        int64_t position = model.locate(index, coordinates);
        expected[coordinates][position] = index;
      }
      bool gaps = false;
      for (int64_t rank = 0; rank < test.mesh.getNumRanks(); ++rank) {
        // Axes that do not split the dimension do not matter.
        std::vector<int64_t> all(3, 0), here(3, 0);
        for (Axis axis = 0; axis < 3; ++axis) {
          all[axis] = test.mesh.getCoordinate(rank, axis);
          for (const Digit &digit : model.digits)
            if (digit.axis == axis)
              here[axis] = all[axis];
        }
        for (int64_t position = 0; position < local[dim]; ++position) {
          auto found = expected[here].find(position);
          std::optional<int64_t> want;
          if (found != expected[here].end())
            want = found->second;
          gaps |= !want.has_value();
          EXPECT_EQ(placement.getGlobalIndex(dim, model.size, position, all), want);
        }
      }
      EXPECT_EQ(placement.isUneven(dim, test.mesh), gaps);
      uneven += gaps;
    }
  }
  EXPECT_GT(uneven, 100) << "too few uneven cases for the test to mean something";
}

// Tests that the local digits, read as mixed radix, address the indices that the rank with coordinates 0 holds.
TEST_F(PlacementTest, describesLocalDigits) {
  Random random(2);
  for (int64_t round = 0; round < 200; ++round) {
    SCOPED_TRACE(random.describe(round));
    Case test = makeCase(random, context);
    Placement placement = resolve(test.getAttr(), test.mesh, test.shape);
    for (auto [dim, model] : llvm::enumerate(test.dims)) {
      SmallVector<LocalDigit> digits = getLocalDigits(placement.dims[dim], model.size);
      std::vector<int64_t> origin(3, 0);
      for (int64_t position = 0; position < model.getLocalSize(); ++position) {
        int64_t rest = position, index = 0;
        for (const LocalDigit &digit : llvm::reverse(digits)) {
          index += rest % digit.localSize * digit.globalStride;
          rest /= digit.localSize;
        }
        EXPECT_EQ(placement.getGlobalIndex(dim, model.size, position, origin), index);
      }
    }
  }
}

// Tests that a digit that was taken out goes back to its place.
TEST_F(PlacementTest, insertsDigitsAtTheirPlace) {
  Random random(3);
  int64_t between = 0;
  for (int64_t round = 0; round < 300; ++round) {
    SCOPED_TRACE(random.describe(round));
    Case test = makeCase(random, context);
    Placement placement = resolve(test.getAttr(), test.mesh, test.shape);
    for (auto [dim, splits] : llvm::enumerate(placement.dims)) {
      // Digits of one index have no order among themselves.
      if (llvm::any_of(splits, [](const Split &split) { return split.extent == split.stride; }))
        continue;
      for (auto [index, split] : llvm::enumerate(splits)) {
        Placement built = placement;
        built.dims[dim].erase(built.dims[dim].begin() + index);
        EXPECT_TRUE(built.insert(dim, split)) << describe(placement) << "digit " << index;
        EXPECT_EQ(describe(built), describe(placement));
        between += index > 0 && index + 1 < splits.size();
      }
    }
  }
  EXPECT_GT(between, 0) << "no digit was inserted between two others";
}

TEST_F(PlacementTest, refusesDigitsThatOverlap) {
  Placement placement = Placement::replicated(1);
  ASSERT_TRUE(placement.insert(0, {0, 12, 3}));
  Placement before = placement;
  EXPECT_FALSE(placement.insert(0, {1, 12, 6})) << "the same indices twice";
  EXPECT_FALSE(placement.insert(0, {1, 6, 2})) << "half inside the other digit";
  EXPECT_FALSE(placement.insert(0, {1, 2, 1})) << "2 does not divide 3";
  EXPECT_EQ(placement, before);
  EXPECT_TRUE(placement.insert(0, {1, 3, 1}));
  EXPECT_TRUE(placement.insert(0, {2, 24, 12}));
}

TEST_F(PlacementTest, findsAndForgetsAxes) {
  Mesh mesh({"a", "b"}, {2, 2});
  Placement placement = resolve(makeMapping({plain(3), axis("b")}), mesh, {12});
  ASSERT_TRUE(placement.findSplit(1));
  EXPECT_EQ(placement.findSplit(1)->second, (Split{1, 4, 2}));
  EXPECT_FALSE(placement.findSplit(0));
  placement.partialAxes.push_back(0);
  EXPECT_TRUE(placement.isPartial(0));
  placement.erase(1);
  placement.erase(0);
  EXPECT_TRUE(placement.isReplicated());
}

// Tests that every message of resolve() names what it found.
TEST_F(PlacementTest, refusesWhatDoesNotFit) {
  Mesh mesh({"a", "b"}, {2, 4});
  auto message = [&](MappingAttr attr, ArrayRef<int64_t> shape) {
    std::string text;
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) { text = diagnostic.str(); });
    EXPECT_TRUE(failed(Placement::resolve(attr, mesh, shape, [&] { return emitError(UnknownLoc::get(&context)); })));
    return text;
  };
  EXPECT_EQ(message(makeMapping({}), {4, 4}), "the dims mapping has 1 dimensions but the value has 2");
  EXPECT_EQ(message(makeMapping({axis("c")}), {4}), "the mesh has no axis \"c\"");
  EXPECT_EQ(message(makeMapping({plain(3)}), {4}),
            "digit 3 does not divide the 4 indices that are left of dimension 0 of size 4");
  EXPECT_EQ(message(makeMapping({by("a", 5)}), {12}),
            "2 parts of 5 indices over axis \"a\" do not fit the 12 indices that are left of dimension 0 of size 12");
  EXPECT_EQ(
      message(makeMapping({by("a", INT64_MAX)}), {12}),
      "2 parts of 9223372036854775807 indices over axis \"a\" do not fit the 12 indices that are left of dimension "
      "0 of size 12");
  Builder builder(&context);
  auto support = builder.getDictionaryAttr(builder.getNamedAttr("a", builder.getDenseI64ArrayAttr({0, 2})));
  auto attr = MappingAttr::get(&context, {}, ReduceKind::Sum, builder.getArrayAttr({}), support);
  EXPECT_EQ(message(attr, {}), "axis \"a\" of size 2 has no coordinate 2");
}

} // namespace
