//===- LayoutTest.cpp - parts of values on ranks --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The runs are compared with the definition, index by index: coordinate (i mod extent) / stride holds index i, where
// the next digit reads i mod stride.
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/Box.h"
#include "test/unit/Random.h"
#include <algorithm>
#include <gtest/gtest.h>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::test;

using Runs = std::vector<meshwright::runtime::Run>;

static Mesh makeMesh(std::vector<int64_t> sizes) {
  std::vector<std::string> names;
  for (size_t i = 0; i != sizes.size(); ++i)
    names.push_back(std::string(1, static_cast<char>('a' + i)));
  return *Mesh::create(names, std::move(sizes));
}

static void addSplit(Placement &placement, int dim, uint32_t axis, int64_t extent, int64_t stride) {
  Split *split = placement.mutable_dims(dim)->add_splits();
  split->set_axis(axis);
  split->set_extent(extent);
  split->set_stride(stride);
}

static Placement makePlacement(size_t rank) {
  Placement placement;
  for (size_t i = 0; i != rank; ++i)
    placement.add_dims();
  return placement;
}

TEST(Mesh, FirstAxisIsSlowest) {
  Mesh mesh = makeMesh({2, 3, 2});
  EXPECT_EQ(mesh.getNumRanks(), 12);
  EXPECT_EQ(mesh.getCoordinates(7), (std::vector<int64_t>{1, 0, 1}));
  uint32_t middle[] = {1}, ends[] = {2, 0};
  EXPECT_EQ(mesh.getGroup(7, middle), (std::vector<int64_t>{7, 9, 11}));
  EXPECT_EQ(mesh.getGroup(7, ends), (std::vector<int64_t>{0, 6, 1, 7})) << "the first of the axes is the slowest";
  EXPECT_EQ(mesh.getGroup(7, {}), (std::vector<int64_t>{7}));
}

TEST(Mesh, SizesAreChecked) {
  EXPECT_EQ(Mesh::create({"a"}, {0}).status().message(), "axis \"a\" has size 0 where at least 1 is wanted");
  EXPECT_EQ(Mesh::create({"a", "a"}, {2, 2}).status().message(), "two axes are called \"a\"");
  EXPECT_FALSE(Mesh::create({"a", "b"}, {int64_t(1) << 40, int64_t(1) << 40}).ok());
}

TEST(Layout, MistakesAreNamed) {
  Mesh mesh = makeMesh({2, 4});
  auto getError = [&](Shape shape, uint32_t axis, int64_t extent, int64_t stride) {
    Placement placement = makePlacement(shape.size());
    addSplit(placement, 0, axis, extent, stride);
    return Layout::create(placement, mesh, std::move(shape)).status().message();
  };
  EXPECT_EQ(getError({8}, 2, 8, 4), "dimension 0 is split over axis 2 of a mesh with 2 axes");
  EXPECT_EQ(getError({8}, 0, 3, 2),
            "a digit of extent 3 does not divide the 8 indices that are left of dimension 0 of size 8");
  EXPECT_EQ(getError({8}, 0, 0, 1),
            "a digit of extent 0 does not divide the 8 indices that are left of dimension 0 of size 8");
  EXPECT_EQ(getError({8}, 0, -8, 1),
            "a digit of extent -8 does not divide the 8 indices that are left of dimension 0 of size 8");
  EXPECT_EQ(getError({8}, 1, 8, 1), "4 parts of 1 indices over axis \"b\" do not fit an extent of 8");
  EXPECT_EQ(getError({8}, 1, 8, 9), "4 parts of 9 indices over axis \"b\" do not fit an extent of 8");
  EXPECT_EQ(getError({8}, 1, 8, 0), "4 parts of 0 indices over axis \"b\" do not fit an extent of 8");
  Placement twice = makePlacement(2);
  addSplit(twice, 0, 0, 8, 4);
  addSplit(twice, 1, 0, 8, 4);
  EXPECT_EQ(Layout::create(twice, mesh, {8, 8}).status().message(), "axis \"a\" splits the value twice");
  EXPECT_EQ(Layout::create(makePlacement(1), mesh, {8, 8}).status().message(),
            "the placement has 1 dimensions but the value has 2");
}

TEST(Layout, WholeTrailingDimensionsAreOneRun) {
  Mesh mesh = makeMesh({2});
  Placement placement = makePlacement(3);
  addSplit(placement, 0, 0, 4, 2);
  Layout layout = *Layout::create(placement, mesh, {4, 5, 6});
  Runs runs;
  LocalPart(layout, std::vector<int64_t>{1}).forEachRun([&](int64_t l, int64_t g, int64_t n) {
    runs.push_back({l, g, n});
  });
  EXPECT_EQ(runs, (Runs{{0, 60, 60}}));
}

namespace {

/// A random placement with the digits it is made of: nested, some plain, some that do not divide.
struct RandomLayout {
  Mesh mesh;
  Shape shape;
  Placement placement;
  struct Digit {
    size_t dim;
    uint32_t axis;
    int64_t extent, stride;
  };
  std::vector<Digit> digits;

  /// Makes a layout of a random shape, or of a given one.
  explicit RandomLayout(Random &random, Shape given = {}) : shape(std::move(given)) {
    std::vector<int64_t> sizes;
    for (int64_t n = random.pick(1, 4); n != 0; --n)
      sizes.push_back(random.pick(1, 4));
    mesh = makeMesh(sizes);
    size_t rank = shape.empty() ? random.pick(1, 3) : shape.size();
    while (shape.size() != rank)
      shape.push_back(random.chance(5) ? 0 : random.pick(1, 30));
    placement = makePlacement(rank);
    std::vector<uint32_t> axes;
    for (uint32_t axis = 0; axis != sizes.size(); ++axis)
      axes.push_back(axis);
    for (size_t dim = 0; dim != rank; ++dim)
      for (int64_t left = shape[dim]; !axes.empty() && random.chance(60);) {
        // Sometimes a plain digit comes first.
        std::vector<int64_t> extents;
        for (int64_t divisor = 1; divisor <= left; ++divisor)
          if (left % divisor == 0)
            extents.push_back(left / divisor);
        int64_t extent = left == 0 ? 0 : random.chance(50) ? left : random.choose(extents);
        size_t choice = random.pick(0, static_cast<int64_t>(axes.size()) - 1);
        uint32_t axis = axes[choice];
        axes.erase(axes.begin() + static_cast<ptrdiff_t>(choice));
        int64_t least = std::max<int64_t>((extent + sizes[axis] - 1) / sizes[axis], 1);
        int64_t stride = random.chance(80) ? least : random.pick(least, std::max<int64_t>(extent, 1));
        addSplit(placement, static_cast<int>(dim), axis, extent, stride);
        digits.push_back({dim, axis, extent, stride});
        left = stride;
      }
  }

  /// True if these coordinates hold index i of a dimension, by the definition: each digit applies to the remainder of
  /// the previous ones.
  bool holds(size_t dim, int64_t i, const std::vector<int64_t> &coordinates) const {
    for (const Digit &digit : digits) {
      if (digit.dim != dim)
        continue;
      i %= digit.extent;
      if (i / digit.stride != coordinates[digit.axis])
        return false;
      i %= digit.stride;
    }
    return true;
  }
};

} // namespace

TEST(Layout, PartsAreWhatTheDefinitionSays) {
  Random random;
  int uneven = 0, nested = 0;
  for (int round = 0; round != 400; ++round) {
    SCOPED_TRACE(random.describe(round));
    RandomLayout sample(random);
    auto layout = Layout::create(sample.placement, sample.mesh, sample.shape);
    ASSERT_TRUE(layout.ok()) << layout.status().message();
    SCOPED_TRACE(sample.placement.ShortDebugString() + " of " + toString(sample.shape));
    Shape local = layout->getLocalShape();
    uint64_t localSize = *getNumElements(local);
    nested += sample.digits.size() > 1;
    for (int64_t rank = 0; rank != sample.mesh.getNumRanks(); ++rank) {
      std::vector<int64_t> coordinates = sample.mesh.getCoordinates(rank);
      // The indices that the rank holds in each dimension, in order.
      std::vector<std::vector<int64_t>> held(sample.shape.size());
      uint64_t expected = 1;
      for (size_t dim = 0; dim != sample.shape.size(); ++dim) {
        for (int64_t i = 0; i != sample.shape[dim]; ++i)
          if (sample.holds(dim, i, coordinates))
            held[dim].push_back(i);
        expected *= held[dim].size();
      }
      LocalPart part(*layout, coordinates);
      ASSERT_EQ(part.getNumElements(), expected);
      uneven += expected != localSize;
      std::vector<bool> seen(localSize);
      part.forEachRun([&](int64_t l, int64_t g, int64_t count) {
        for (int64_t k = 0; k != count; ++k) {
          ASSERT_LT(static_cast<uint64_t>(l + k), localSize);
          ASSERT_FALSE(seen[l + k]);
          seen[l + k] = true;
          int64_t left = g + k;
          for (size_t dim = sample.shape.size(); dim-- != 0; left /= sample.shape[dim])
            ASSERT_TRUE(sample.holds(dim, left % sample.shape[dim], coordinates));
        }
      });
    }
  }
  EXPECT_GT(uneven, 100);
  EXPECT_GT(nested, 100);
}

TEST(Layout, LocalOrderIsThatOfTheWholeWithinEachDigit) {
  // 24 = 2 plain x (a: 3 parts of 4): position p of a coordinate's 8 is group p / 4, offset p % 4.
  Mesh mesh = makeMesh({3});
  Placement placement = makePlacement(1);
  addSplit(placement, 0, 0, 12, 4);
  Layout layout = *Layout::create(placement, mesh, {24});
  EXPECT_EQ(layout.getLocalShape(), Shape{8});
  Runs runs;
  LocalPart(layout, std::vector<int64_t>{1}).forEachRun([&](int64_t l, int64_t g, int64_t n) {
    runs.push_back({l, g, n});
  });
  EXPECT_EQ(runs, (Runs{{0, 4, 4}, {4, 16, 4}}));
}

TEST(Layout, ScatterAndGatherAreInverse) {
  Random random(1);
  for (int round = 0; round != 100; ++round) {
    SCOPED_TRACE(random.describe(round));
    RandomLayout sample(random);
    Layout layout = *Layout::create(sample.placement, sample.mesh, sample.shape);
    Tensor whole(I32, sample.shape), again(I32, sample.shape);
    for (size_t i = 0; i != whole.as<int32_t>().size(); ++i)
      whole.as<int32_t>()[i] = static_cast<int32_t>(i + 1);
    for (int64_t rank = 0; rank != sample.mesh.getNumRanks(); ++rank) {
      LocalPart part(layout, sample.mesh.getCoordinates(rank));
      Tensor local(I32, layout.getLocalShape());
      scatterPart(part, whole.bytes.data(), local.bytes.data(), 4);
      gatherPart(part, local.bytes.data(), again.bytes.data(), 4);
      Tensor replica = local;
      EXPECT_EQ(findDifference(part, local.bytes.data(), replica.bytes.data(), 4), std::nullopt);
      if (part.getNumElements() == 0)
        continue;
      // One element of it changes.
      int64_t changed = -1, offset = -1;
      part.forEachRun([&](int64_t l, int64_t g, int64_t count) { changed = l + count - 1, offset = g + count - 1; });
      local.as<int32_t>()[changed] = -1;
      EXPECT_EQ(findDifference(part, local.bytes.data(), replica.bytes.data(), 4), offset);
    }
    EXPECT_EQ(whole.bytes, again.bytes);
  }
}

TEST(Box, SharedElementsAreThoseOfBothByDefinition) {
  Random random(2);
  int shared = 0;
  for (int round = 0; round != 150; ++round) {
    SCOPED_TRACE(random.describe(round));
    RandomLayout from(random), to(random, from.shape);
    Layout fromLayout = *Layout::create(from.placement, from.mesh, from.shape);
    Layout toLayout = *Layout::create(to.placement, to.mesh, to.shape);
    Tensor whole(I32, from.shape), again(I32, from.shape);
    for (size_t i = 0; i != whole.as<int32_t>().size(); ++i)
      whole.as<int32_t>()[i] = static_cast<int32_t>(i + 1);
    std::vector<int64_t> ours = from.mesh.getCoordinates(random.pick(0, from.mesh.getNumRanks() - 1));
    std::vector<int64_t> theirs = to.mesh.getCoordinates(random.pick(0, to.mesh.getNumRanks() - 1));
    Tensor source(I32, fromLayout.getLocalShape());
    scatterPart(LocalPart(fromLayout, ours), whole.bytes.data(), source.bytes.data(), 4);
    // By way of a packed array.
    Box box(fromLayout, ours), packed = box.pack(), target(toLayout, theirs);
    ASSERT_EQ(*getNumElements(packed.getArrayShape()), box.getNumElements());
    Tensor middle(I32, packed.getArrayShape()), found(I32, toLayout.getLocalShape());
    ASSERT_EQ(copyShared(box, source.bytes.data(), packed, middle.bytes.data(), 4), box.getNumElements());
    uint64_t count = copyShared(packed, middle.bytes.data(), target, found.bytes.data(), 4);
    gatherPart(LocalPart(toLayout, theirs), found.bytes.data(), again.bytes.data(), 4);
    uint64_t expected = 0;
    for (int64_t i = 0; i != static_cast<int64_t>(whole.as<int32_t>().size()); ++i) {
      bool both = true;
      int64_t left = i;
      for (size_t dim = from.shape.size(); dim-- != 0; left /= from.shape[dim])
        both &= from.holds(dim, left % from.shape[dim], ours) && to.holds(dim, left % from.shape[dim], theirs);
      expected += both;
      ASSERT_EQ(again.as<int32_t>()[i], both ? i + 1 : 0) << "element " << i;
    }
    EXPECT_EQ(count, expected);
    shared += expected != 0 && expected != box.getNumElements();
  }
  EXPECT_GT(shared, 20);
}
