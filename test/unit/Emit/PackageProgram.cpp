//===- PackageProgram.cpp - a package, run with tensors -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/unit/Emit/PackageProgram.h"
#include "lib/Emit/Enumerations.h"
#include "meshwright/runtime/Session.h"
#include <cstring>

using namespace mlir;
using namespace meshwright;
using namespace meshwright::test;
using evaluate::Tensor;

struct PackageProgram::Implementation {
  runtime::LoadedPackage package;
  std::unique_ptr<runtime::Session> session;

  llvm::Expected<Tensor> gather(const runtime::ValueSet &set, size_t index, RankedTensorType type) const;
};

static llvm::Error toError(const runtime::Status &status) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), status.message());
}

/// Calls `fn` with a value of the C++ type that an element has in memory.
template <typename Fn> static void dispatch(Type element, Fn &&fn) { runtime::dispatch(emit::getDType(element), fn); }

static std::vector<std::byte> toBytes(const Tensor &tensor) {
  std::vector<std::byte> bytes;
  dispatch(tensor.type.getElementType(), [&](auto zero) {
    using T = decltype(zero);
    bytes.resize(tensor.data.size() * sizeof(T));
    for (size_t index = 0; index < tensor.data.size(); ++index) {
      // Every number is one of its type: nothing is rounded.
      T value;
      if constexpr (std::is_integral_v<T>)
        value = static_cast<T>(tensor.data[index].i);
      else if constexpr (std::is_same_v<T, double>)
        value = tensor.data[index].f;
      else
        value = T(static_cast<float>(tensor.data[index].f));
      std::memcpy(&bytes[index * sizeof(T)], &value, sizeof(T));
    }
  });
  return bytes;
}

static Tensor fromBytes(RankedTensorType type, const std::vector<std::byte> &bytes) {
  Tensor tensor(type);
  dispatch(type.getElementType(), [&](auto zero) {
    using T = decltype(zero);
    for (size_t index = 0; index < tensor.data.size(); ++index) {
      T value;
      std::memcpy(&value, &bytes[index * sizeof(T)], sizeof(T));
      if constexpr (std::is_integral_v<T>)
        tensor.data[index].i = value;
      else if constexpr (std::is_same_v<T, double>)
        tensor.data[index].f = value;
      else
        tensor.data[index].f = static_cast<float>(value);
    }
  });
  return tensor;
}

llvm::Expected<Tensor> PackageProgram::Implementation::gather(const runtime::ValueSet &set, size_t index,
                                                              RankedTensorType type) const {
  std::vector<std::byte> bytes(set.getBytes(index));
  if (runtime::Status status = session->gather(set, index, bytes); !status.ok())
    return toError(status);
  if (runtime::Status status = session->checkReplicas(set, index); !status.ok())
    return toError(status);
  return fromBytes(type, bytes);
}

PackageProgram::PackageProgram(std::unique_ptr<Implementation> implementation)
    : implementation(std::move(implementation)) {}
PackageProgram::PackageProgram(PackageProgram &&) noexcept = default;
PackageProgram::~PackageProgram() = default;

llvm::Expected<PackageProgram> PackageProgram::open(const std::string &folder) {
  auto package = runtime::LoadedPackage::open(folder);
  if (!package.ok())
    return toError(package.status());
  auto implementation = std::make_unique<Implementation>(std::move(*package), nullptr);
  auto session = runtime::Session::create(implementation->package, {});
  if (!session.ok())
    return toError(session.status());
  implementation->session = std::move(*session);
  return PackageProgram(std::move(implementation));
}

void PackageProgram::setVariable(const std::string &name, const Tensor &whole) {
  const runtime::ValueSet &variables = implementation->session->getVariables();
  implementation->session->scatter(variables, *variables.find(name), toBytes(whole));
}

llvm::Expected<Tensor> PackageProgram::getVariable(const std::string &name, RankedTensorType type) {
  const runtime::ValueSet &variables = implementation->session->getVariables();
  return implementation->gather(variables, *variables.find(name), type);
}

llvm::Expected<std::vector<Tensor>> PackageProgram::run(llvm::ArrayRef<Tensor> inputs, TypeRange results) {
  runtime::Session &session = *implementation->session;
  for (auto [index, input] : llvm::enumerate(inputs))
    session.scatter(session.getInputs(), index, toBytes(input));
  if (runtime::Status status = session.step(); !status.ok())
    return toError(status);
  std::vector<Tensor> outputs;
  for (auto [index, type] : llvm::enumerate(results)) {
    auto output = implementation->gather(session.getOutputs(), index, cast<RankedTensorType>(type));
    if (!output)
      return output.takeError();
    outputs.push_back(std::move(*output));
  }
  return outputs;
}
