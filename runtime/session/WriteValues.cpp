//===- WriteValues.cpp - values of a session in a file --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/WriteValues.h"

using namespace meshwright;
using namespace meshwright::runtime;

std::vector<size_t> meshwright::runtime::findSaved(const Session &session) {
  std::vector<size_t> saved;
  const auto &variables = session.getPackage().message().variables();
  for (int i = 0; i != variables.size(); ++i)
    if (variables[i].kind() != Variable::ACCUMULATOR)
      saved.push_back(static_cast<size_t>(i));
  return saved;
}

Result<std::optional<SafeTensorsWriter>> meshwright::runtime::writeValues(const std::string &path,
                                                                          const Session &session, const ValueSet &set,
                                                                          const std::vector<size_t> &written,
                                                                          std::optional<DType> type,
                                                                          std::string_view typeOption) {
  auto getType = [&](size_t i) { return type && isFloat(set.getType(i)) ? *type : set.getType(i); };
  std::vector<SafeTensorsEntry> entries;
  for (size_t i : written)
    entries.push_back({set.getName(i), getType(i), set.getShape(i)});
  std::optional<SafeTensorsWriter> writer;
  if (session.getWorld().isFirst()) {
    MW_TRY_ASSIGN(writer, SafeTensorsWriter::create(path, entries));
  }
  std::vector<std::byte> whole, rounded;
  auto append = [&](size_t i) -> Status {
    if (getType(i) == set.getType(i))
      return writer->append(whole);
    rounded.resize(*getNumElements(set.getShape(i)) * runtime::getSize(getType(i)));
    MW_TRY(roundFloats(set.getType(i), whole, getType(i), rounded)
               .within(fmt::format("{}variable \"{}\"", typeOption, set.getName(i))));
    return writer->append(rounded);
  };
  // An error of the first process waits until all processes have sent all that is gathered.
  Status status;
  for (size_t i : written) {
    if (writer)
      whole.resize(set.getBytes(i));
    MW_TRY(session.gather(set, i, whole));
    if (writer && status.ok())
      status = append(i);
  }
  MW_TRY(status);
  return writer;
}
