//===- WriteValues.h - values of a session in a file ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_WRITEVALUES_H
#define MESHWRIGHT_RUNTIME_WRITEVALUES_H

#include "meshwright/runtime/Session.h"

namespace meshwright::runtime {

/// The variables that are saved: all but the accumulators.
std::vector<size_t> findSaved(const Session &session);

/// Writes whole values to a safetensors file, one by one, and floats as `type` if it is given; an error of rounding
/// begins with `typeOption`. Returns, on the first process, the file, which has its name once it is committed; nothing
/// on the others.
Result<std::optional<SafeTensorsWriter>> writeValues(const std::string &path, const Session &session,
                                                     const ValueSet &set, const std::vector<size_t> &written,
                                                     std::optional<DType> type = std::nullopt,
                                                     std::string_view typeOption = {});

} // namespace meshwright::runtime

#endif
