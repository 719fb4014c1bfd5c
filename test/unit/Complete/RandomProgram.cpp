//===- RandomProgram.cpp - small random networks --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes random networks as text, operation by operation, with random splits of inputs and weights. Shapes are tiny and
// divide by the axes, so that the exhaustive search of Optimum.h finishes.
//
//===----------------------------------------------------------------------===//

#include "RandomProgram.h"
#include <set>

using namespace meshwright::test;

namespace {

using Shape = std::vector<int64_t>;

std::string join(const Shape &list) {
  std::string text;
  for (int64_t entry : list)
    text += (text.empty() ? "" : ", ") + std::to_string(entry);
  return "[" + text + "]";
}

std::string typeOf(const Shape &shape) {
  std::string text = "tensor<";
  for (int64_t size : shape)
    text += std::to_string(size) + "x";
  return text + "f32>";
}

/// Writes a program from its first operation to its last.
class Writer {
public:
  Writer(Random &random, const ProgramOptions &options) : random(random), options(options) {}

  std::string write() {
    addArgument({6, 8});
    addArgument({6, 4});
    for (int64_t op = 0; op < options.numOps; ++op)
      addOp();
    std::string results, types;
    for (size_t value = 0; value < shapes.size(); ++value)
      if (!used.count(value)) {
        results += (results.empty() ? "" : ", ") + name(value);
        types += (types.empty() ? "" : ", ") + typeOf(shapes[value]);
      }
    return "dist.mesh @mesh <[" + options.mesh + "]>\n" + variables + "func.func @f(" + arguments + ") -> (" + types +
           ") {\n" + body + "  return " + results + " : " + types + "\n}\n";
  }

private:
  std::string name(size_t value) { return "%v" + std::to_string(value); }

  /// A placement that splits at most one dimension over each axis.
  std::string mapping(const Shape &shape) {
    std::vector<std::string> dims(shape.size());
    for (const std::string &axis : options.axes)
      if (random.chance(60) && !shape.empty())
        dims[random.pick(0, shape.size() - 1)] += "\"" + axis + "\" ";
    std::string text;
    for (std::string &dim : dims) {
      for (size_t space = dim.find("\" \""); space != std::string::npos; space = dim.find("\" \""))
        dim.replace(space, 3, "\", \"");
      text += (text.empty() ? "[" : ", [") + dim + "]";
    }
    return "dist.mapping = #dist.mapping<dims = [" + text + "]>";
  }

  void addArgument(const Shape &shape) {
    arguments +=
        (arguments.empty() ? "" : ", ") + name(shapes.size()) + ": " + typeOf(shape) + " {" + mapping(shape) + "}";
    shapes.push_back(shape);
  }

  size_t pickValue() {
    size_t value = random.pick(std::max<int64_t>(0, static_cast<int64_t>(shapes.size()) - 4), shapes.size() - 1);
    return value;
  }

  void define(const Shape &shape, const std::string &text) {
    body += "  " + name(shapes.size()) + " = " + text + "\n";
    shapes.push_back(shape);
  }

  void addOp() {
    size_t value = pickValue();
    switch (random.pick(0, 8)) {
    case 0:
    case 1:
      return addUnary(value);
    case 2:
      return addBinary(value);
    case 3:
    case 4:
      return addProduct(value);
    case 5:
      return addReduction(value);
    case 6:
      return addBroadcast(value);
    case 7:
      return addTranspose(value);
    default:
      return addReshape(value);
    }
  }

  void addUnary(size_t value) {
    used.insert(value);
    std::string kind = random.choose<std::string>({"negate", "exponential", "tanh", "abs"});
    define(shapes[value], "net." + kind + " " + name(value) + " : " + typeOf(shapes[value]));
  }

  void addBinary(size_t value) {
    std::vector<size_t> others;
    for (size_t other = 0; other < shapes.size(); ++other)
      if (shapes[other] == shapes[value])
        others.push_back(other);
    size_t other = random.choose(others);
    used.insert(value);
    used.insert(other);
    std::string kind = random.choose<std::string>({"add", "subtract", "multiply", "maximum"});
    define(shapes[value], "net." + kind + " " + name(value) + ", " + name(other) + " : " + typeOf(shapes[value]));
  }

  /// A product with a new weight, or with a value whose sizes fit.
  void addProduct(size_t value) {
    const Shape left = shapes[value];
    if (left.empty())
      return addUnary(value);
    std::vector<size_t> others;
    for (size_t other = 0; other < shapes.size(); ++other)
      if (!shapes[other].empty() && shapes[other].front() == left.back() && shapes[other].size() <= 2)
        others.push_back(other);
    std::string right = "%w" + std::to_string(numWeights);
    Shape rightShape{left.back(), random.choose<int64_t>({4, 6, 8})};
    used.insert(value);
    if (!others.empty() && random.chance(40)) {
      size_t other = random.choose(others);
      used.insert(other);
      right = name(other);
      rightShape = shapes[other];
    } else {
      std::string symbol = "@w" + std::to_string(numWeights++);
      variables += "net.variable parameter " + symbol + " : " + typeOf(rightShape) + " {" + mapping(rightShape) + "}\n";
      body += "  " + right + " = net.read " + symbol + " : " + typeOf(rightShape) + "\n";
    }
    Shape result(left.begin(), left.end() - 1);
    result.insert(result.end(), rightShape.begin() + 1, rightShape.end());
    define(result, "net.dot " + name(value) + ", " + right + " batch = [] x [] contract = [" +
                       std::to_string(left.size() - 1) + "] x [0] : " + typeOf(left) + ", " + typeOf(rightShape) +
                       " -> " + typeOf(result));
  }

  void addReduction(size_t value) {
    if (shapes[value].empty())
      return addUnary(value);
    used.insert(value);
    int64_t dim = random.pick(0, shapes[value].size() - 1);
    Shape result = shapes[value];
    result.erase(result.begin() + dim);
    define(result, std::string("net.reduce ") + (random.chance(70) ? "sum" : "max") + " " + name(value) + " dims = [" +
                       std::to_string(dim) + "] : " + typeOf(shapes[value]) + " -> " + typeOf(result));
  }

  void addBroadcast(size_t value) {
    if (shapes[value].size() > 2)
      return addUnary(value);
    used.insert(value);
    Shape result = shapes[value], dims;
    int64_t at = random.pick(0, result.size());
    result.insert(result.begin() + at, random.choose<int64_t>({4, 6, 8}));
    for (int64_t dim = 0; dim < static_cast<int64_t>(result.size()); ++dim)
      if (dim != at)
        dims.push_back(dim);
    define(result, "net.broadcast " + name(value) + " dims = " + join(dims) + " : " + typeOf(shapes[value]) + " -> " +
                       typeOf(result));
  }

  void addTranspose(size_t value) {
    if (shapes[value].size() < 2)
      return addUnary(value);
    used.insert(value);
    Shape result = shapes[value], dims;
    for (size_t dim = 0; dim < result.size(); ++dim)
      dims.push_back(dim);
    std::swap(dims[0], dims.back());
    std::swap(result[0], result.back());
    define(result, "net.transpose " + name(value) + " dims = " + join(dims) + " : " + typeOf(shapes[value]) + " -> " +
                       typeOf(result));
  }

  /// Joins the two last dimensions, or takes the last apart.
  void addReshape(size_t value) {
    Shape result = shapes[value];
    if (result.empty() || result.back() % 2 != 0)
      return addUnary(value);
    used.insert(value);
    int64_t last = result.back();
    result.pop_back();
    if (!result.empty() && random.chance(50))
      result.back() *= last;
    else
      result.insert(result.end(), {2, last / 2});
    define(result, "net.reshape " + name(value) + " : " + typeOf(shapes[value]) + " -> " + typeOf(result));
  }

  Random &random;
  const ProgramOptions &options;
  std::string variables, arguments, body;
  std::vector<Shape> shapes;
  std::set<size_t> used;
  int64_t numWeights = 0;
};

} // namespace

std::string meshwright::test::makeProgram(Random &random, const ProgramOptions &options) {
  return Writer(random, options).write();
}

std::string meshwright::test::makeChain(int64_t blocks) {
  std::string variables, body, value = "%x";
  for (int64_t block = 0; block < blocks; ++block) {
    std::string n = std::to_string(block);
    variables +=
        "net.variable parameter @u" + n + " : tensor<4x8xf32> {dist.mapping = #dist.mapping<dims = [[], [\"tp\"]]>}\n" +
        "net.variable parameter @d" + n + " : tensor<8x4xf32> {dist.mapping = #dist.mapping<dims = [[\"tp\"], []]>}\n";
    body +=
        "%u" + n + " = net.read @u" + n + " : tensor<4x8xf32>\n%d" + n + " = net.read @d" + n + " : tensor<8x4xf32>\n";
    body += "%h" + n + " = net.dot " + value + ", %u" + n +
            " batch = [] x [] contract = [1] x [0] : tensor<6x4xf32>, tensor<4x8xf32> -> tensor<6x8xf32>\n";
    body += "%t" + n + " = net.tanh %h" + n + " : tensor<6x8xf32>\n";
    body += "%y" + n + " = net.dot %t" + n + ", %d" + n +
            " batch = [] x [] contract = [1] x [0] : tensor<6x8xf32>, tensor<8x4xf32> -> tensor<6x4xf32>\n";
    body += "%z" + n + " = net.add " + value + ", %y" + n + " : tensor<6x4xf32>\n";
    value = "%z" + n;
  }
  return "dist.mesh @mesh <[\"tp\" = 2]>\n" + variables + "func.func @f(%x: tensor<6x4xf32>) -> tensor<6x4xf32> {\n" +
         body + "return " + value + " : tensor<6x4xf32>\n}\n";
}
