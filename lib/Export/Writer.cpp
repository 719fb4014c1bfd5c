//===- Writer.cpp - writes operations of StableHLO as text ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Short forms are those that StableHLO's own printer writes, so that the text reads like that of a framework.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Export/Writer.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::exporter;

#include "lib/Export/Form.cpp.inc"

std::string exporter::list(ArrayRef<int64_t> numbers) {
  std::string text = "[";
  llvm::raw_string_ostream stream(text);
  llvm::interleaveComma(numbers, stream);
  stream << "]";
  return text;
}

std::string exporter::array(ArrayRef<int64_t> numbers) {
  std::string text = "array<i64";
  llvm::raw_string_ostream stream(text);
  if (!numbers.empty())
    stream << ": ";
  llvm::interleaveComma(numbers, stream);
  stream << ">";
  return text;
}

//===----------------------------------------------------------------------===//
// Terms of values
//===----------------------------------------------------------------------===//

Term Writer::get(Value value) const {
  auto found = terms.find(value);
  assert(found != terms.end() && "an operand is written before its user");
  return found->second;
}

SmallVector<Term> Writer::get(ValueRange values) const {
  return llvm::map_to_vector(values, [&](Value value) { return get(value); });
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

static void writeNames(llvm::raw_ostream &out, ArrayRef<Term> terms) {
  llvm::interleaveComma(terms, out, [&](const Term &term) { out << term.name; });
}

static void writeTypes(llvm::raw_ostream &out, ArrayRef<Term> terms) {
  llvm::interleaveComma(terms, out, [&](const Term &term) { out << term.type; });
}

Term Writer::op(StringRef name, ArrayRef<Term> operands, RankedTensorType type, const Twine &after,
                const Twine &before) {
  Term result = makeTerm(type);
  line() << result.name << " = " << name;
  std::string first = before.str();
  out << (first.empty() ? "" : " ") << first << (operands.empty() ? "" : " ");
  writeNames(out, operands);
  out << after << " : ";
  if (llvm::all_of(operands, [&](const Term &operand) { return operand.type == type; })) {
    out << type;
  } else {
    out << "(";
    writeTypes(out, operands);
    out << ") -> " << type;
  }
  endLine();
  return result;
}

SmallVector<Term> Writer::generic(StringRef name, ArrayRef<Term> operands, TypeRange types, const Twine &properties,
                                  ArrayRef<llvm::function_ref<void()>> writeRegions) {
  std::string base = makeName();
  SmallVector<Term> results;
  for (auto [index, type] : llvm::enumerate(types))
    results.push_back({types.size() == 1 ? base : base + "#" + std::to_string(index), cast<RankedTensorType>(type)});
  line() << base;
  if (types.size() != 1)
    out << ":" << types.size();
  out << " = \"" << name << "\"(";
  writeNames(out, operands);
  out << ")";
  if (std::string text = properties.str(); !text.empty())
    out << " <{" << text << "}>";
  if (!writeRegions.empty()) {
    out << " (";
    llvm::interleaveComma(writeRegions, out, [](llvm::function_ref<void()> write) { write(); });
    out << ")";
  }
  out << " : (";
  writeTypes(out, operands);
  out << ") -> ";
  if (types.size() != 1)
    out << "(";
  writeTypes(out, results);
  if (types.size() != 1)
    out << ")";
  endLine();
  return results;
}

Term Writer::constant(ElementsAttr value) {
  return op("stablehlo.constant", {}, cast<RankedTensorType>(value.getType()), "", [&] {
    std::string text;
    llvm::raw_string_ostream stream(text);
    // Larger arrays are written as bytes, which keep every bit.
    cast<Attribute>(value).print(stream, /*elideType=*/true);
    return text;
  }());
}

Term Writer::constant(TypedAttr value) {
  return constant(cast<ElementsAttr>(
      DenseElementsAttr::get(RankedTensorType::get({}, value.getType()), ArrayRef<Attribute>(value))));
}

Term Writer::integer(Type element, int64_t value) {
  return constant(cast<TypedAttr>(Builder(element.getContext()).getIntegerAttr(element, value)));
}

Term Writer::splat(Type element, double value, ArrayRef<int64_t> shape) {
  Builder builder(element.getContext());
  auto number = isa<FloatType>(element) ? cast<TypedAttr>(builder.getFloatAttr(element, value))
                                        : cast<TypedAttr>(builder.getIntegerAttr(element, static_cast<int64_t>(value)));
  return constant(
      cast<ElementsAttr>(DenseElementsAttr::get(RankedTensorType::get(shape, element), ArrayRef<Attribute>(number))));
}

Term Writer::iota(Type element, ArrayRef<int64_t> shape, int64_t dim) {
  return op("stablehlo.iota", {}, RankedTensorType::get(shape, element), "", "dim = " + Twine(dim));
}

Term Writer::reshape(const Term &term, ArrayRef<int64_t> shape) {
  if (term.getShape() == shape)
    return term;
  Term result = makeTerm(term.type.clone(shape));
  line() << result.name << " = stablehlo.reshape " << term.name << " : (" << term.type << ") -> " << result.type;
  endLine();
  return result;
}

Term Writer::transpose(const Term &term, ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> shape = llvm::map_to_vector(permutation, [&](int64_t dim) { return term.getShape()[dim]; });
  Term result = makeTerm(term.type.clone(shape));
  line() << result.name << " = stablehlo.transpose " << term.name << ", dims = " << list(permutation) << " : ("
         << term.type << ") -> " << result.type;
  endLine();
  return result;
}

Term Writer::broadcast(const Term &term, ArrayRef<int64_t> shape, ArrayRef<int64_t> dims) {
  if (term.getShape() == shape && llvm::is_sorted(dims))
    return term;
  Term result = makeTerm(term.type.clone(shape));
  line() << result.name << " = stablehlo.broadcast_in_dim " << term.name << ", dims = " << list(dims) << " : ("
         << term.type << ") -> " << result.type;
  endLine();
  return result;
}

Term Writer::convert(const Term &term, Type element) {
  if (term.getElementType() == element)
    return term;
  return op("stablehlo.convert", term, RankedTensorType::get(term.getShape(), element));
}

Term Writer::compare(StringRef direction, const Term &lhs, const Term &rhs, bool isTotal) {
  Type element = lhs.getElementType();
  StringRef kind = isTotal                                               ? "TOTALORDER"
                   : isa<FloatType>(element)                             ? "FLOAT"
                   : element.isInteger(1) || element.isUnsignedInteger() ? "UNSIGNED"
                                                                         : "SIGNED";
  return op("stablehlo.compare", {lhs, rhs},
            RankedTensorType::get(lhs.getShape(), IntegerType::get(element.getContext(), 1)), ", " + kind,
            direction + ",");
}

Term Writer::select(const Term &predicate, const Term &onTrue, const Term &onFalse) {
  Term result = makeTerm(onTrue.type);
  line() << result.name << " = stablehlo.select " << predicate.name << ", " << onTrue.name << ", " << onFalse.name
         << " : " << predicate.type << ", " << result.type;
  endLine();
  return result;
}

SmallVector<Term> Writer::barrier(ArrayRef<Term> terms) {
  std::string base = makeName();
  line() << base;
  if (terms.size() != 1)
    out << ":" << terms.size();
  out << " = stablehlo.optimization_barrier ";
  writeNames(out, terms);
  out << " : ";
  writeTypes(out, terms);
  endLine();
  SmallVector<Term> results;
  for (auto [index, term] : llvm::enumerate(terms))
    results.push_back({terms.size() == 1 ? base : base + "#" + std::to_string(index), term.type});
  return results;
}

StringRef Writer::getCombiner(ReduceKind kind) {
  static constexpr StringLiteral names[] = {"stablehlo.add",     "stablehlo.multiply", "stablehlo.maximum",
                                            "stablehlo.minimum", "stablehlo.and",      "stablehlo.or",
                                            "stablehlo.add"};
  return names[static_cast<unsigned>(kind)];
}

void Writer::writeBlock(TypeRange types, llvm::function_ref<SmallVector<Term>(ArrayRef<Term>)> body, StringRef end) {
  SmallVector<Term> arguments = llvm::map_to_vector(types, [&](Type type) { return makeTerm(type); });
  out << "{\n";
  if (!arguments.empty()) {
    line() << "^bb0(";
    llvm::interleaveComma(arguments, out, [&](const Term &term) { out << term.name << ": " << term.type; });
    out << "):\n";
  }
  ++depth;
  SmallVector<Term> results = body(arguments);
  line() << end;
  if (!results.empty()) {
    out << " ";
    writeNames(out, results);
    out << " : ";
    writeTypes(out, results);
  }
  endLine();
  --depth;
  line() << "}";
}

FailureOr<SmallVector<Term>>
Writer::writeLoop(RankedTensorType indexType, int64_t count, bool isReverse, ArrayRef<Term> inits,
                  llvm::function_ref<FailureOr<SmallVector<Term>>(const Term &, ArrayRef<Term>)> writeBody) {
  Type element = indexType.getElementType();
  Term start = integer(element, isReverse ? count - 1 : 0);
  std::string base = makeName(), place = location;
  SmallVector<Term> arguments = {makeTerm(indexType)};
  for (const Term &init : inits)
    arguments.push_back(makeTerm(init.type));
  auto writeReturn = [&](ArrayRef<Term> terms) {
    line() << "stablehlo.return ";
    writeNames(out, terms);
    out << " : ";
    writeTypes(out, terms);
    out << "\n";
  };
  line() << base << ":" << arguments.size() << " = stablehlo.while(" << arguments[0].name << " = " << start.name;
  for (auto [argument, init] : llvm::zip_equal(ArrayRef(arguments).drop_front(), inits))
    out << ", " << argument.name << " = " << init.name;
  out << ") : ";
  writeTypes(out, arguments);
  out << "\n";
  line() << "cond {\n";
  indent();
  writeReturn(compare(isReverse ? "GE" : "LT", arguments[0], integer(element, isReverse ? 0 : count)));
  outdent();
  line() << "} do {\n";
  indent();
  FailureOr<SmallVector<Term>> results = writeBody(arguments[0], ArrayRef(arguments).drop_front());
  if (failed(results))
    return failure();
  setLocation(place);
  results->insert(results->begin(), binary("stablehlo.add", arguments[0], integer(element, isReverse ? -1 : 1)));
  writeReturn(*results);
  outdent();
  line() << "}";
  endLine();
  SmallVector<Term> last;
  for (auto [index, init] : llvm::enumerate(inits))
    last.push_back({base + "#" + std::to_string(index + 1), init.type});
  return last;
}

void Writer::writeReducer(StringRef combiner, Type element) {
  Type scalar = RankedTensorType::get({}, element);
  writeBlock({scalar, scalar},
             [&](ArrayRef<Term> terms) -> SmallVector<Term> { return {op(combiner, terms, terms.front().type)}; });
}

//===----------------------------------------------------------------------===//
// Ranks
//===----------------------------------------------------------------------===//

void Writer::writeCoordinates(ArrayRef<dist::Axis> axes, MLIRContext *context) {
  if (axes.empty())
    return;
  auto type = RankedTensorType::get({}, IntegerType::get(context, 32));
  Term rank = op(form == ModuleForm::Manual ? "stablehlo.partition_id" : "stablehlo.replica_id", {},
                 RankedTensorType::get({}, IntegerType::get(context, 32, IntegerType::Unsigned)));
  rank = op("stablehlo.convert", rank, type);
  for (dist::Axis axis : axes) {
    // The first axis varies slowest.
    int64_t stride = 1;
    for (dist::Axis minor = axis + 1; minor < mesh.getNumRankAxes(); ++minor)
      stride *= mesh.getSize(minor);
    Term coordinate = rank;
    if (stride != 1)
      coordinate = binary("stablehlo.divide", coordinate, integer(type.getElementType(), stride));
    if (stride * mesh.getSize(axis) != mesh.getNumRanks())
      coordinate = binary("stablehlo.remainder", coordinate, integer(type.getElementType(), mesh.getSize(axis)));
    coordinates[axis] = coordinate;
  }
}

/// The members of every group, in the order of the coordinates on the other axes.
SmallVector<SmallVector<int64_t>> Writer::findGroups(ArrayRef<dist::Axis> axes) const {
  SmallVector<SmallVector<int64_t>> groups;
  DenseMap<int64_t, unsigned> numbers;
  for (int64_t rank = 0; rank < mesh.getNumRanks(); ++rank) {
    int64_t member = 0;
    SmallVector<int64_t> coordinates;
    for (dist::Axis axis = 0; axis < mesh.getNumAxes(); ++axis)
      coordinates.push_back(mesh.getCoordinate(rank, axis));
    for (dist::Axis axis : axes) {
      member = member * mesh.getSize(axis) + coordinates[axis];
      coordinates[axis] = 0;
    }
    auto [found, isNew] = numbers.insert({mesh.getRank(coordinates), groups.size()});
    if (isNew)
      groups.emplace_back(mesh.getGroupSize(axes));
    groups[found->second][member] = rank;
  }
  return groups;
}

/// `dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>`
static std::string writeTable(ArrayRef<SmallVector<int64_t>> rows) {
  std::string text = "dense<[";
  llvm::raw_string_ostream stream(text);
  llvm::interleaveComma(rows, stream, [&](ArrayRef<int64_t> row) { stream << list(row); });
  stream << "]> : tensor<" << rows.size() << "x" << rows.front().size() << "xi64>";
  return text;
}

std::string Writer::getGroups(ArrayRef<dist::Axis> axes, int64_t first) const {
  SmallVector<SmallVector<int64_t>> groups = findGroups(axes);
  for (SmallVector<int64_t> &group : groups)
    std::rotate(group.begin(), group.begin() + first, group.begin() + first + 1);
  return writeTable(groups);
}

std::string Writer::getPairs(ArrayRef<dist::Axis> axes, int64_t from, int64_t to) const {
  SmallVector<SmallVector<int64_t>> pairs;
  for (ArrayRef<int64_t> group : findGroups(axes))
    pairs.push_back({group[from], group[to]});
  return writeTable(pairs);
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

void Writer::endLine() {
  if (!location.empty()) {
    unsigned number = locations.insert({location, locations.size() + 1}).first->second;
    out << " loc(#loc" << number << ")";
  }
  out << "\n";
}

void Writer::writeLocations() {
  for (auto &[path, number] : locations) {
    out << "#loc" << number << " = loc(\"";
    llvm::printEscapedString(path, out);
    out << "\")\n";
  }
}
