//===- Safetensors.cpp - tensors in files ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Eight bytes with the length of a header of JSON, the header, and the data, all little-endian.
//
//===----------------------------------------------------------------------===//

#include "test/lib/Evaluate/Safetensors.h"
#include "mlir/IR/Builders.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::evaluate;

static Type parseType(StringRef name, Builder builder) {
  auto unsignedType = [&](unsigned width) { return builder.getIntegerType(width, /*isSigned=*/false); };
  return llvm::StringSwitch<Type>(name)
      .Case("F64", builder.getF64Type())
      .Case("F32", builder.getF32Type())
      .Case("F16", builder.getF16Type())
      .Case("BF16", builder.getBF16Type())
      .Case("I64", builder.getI64Type())
      .Case("I32", builder.getI32Type())
      .Case("I16", builder.getIntegerType(16))
      .Case("I8", builder.getI8Type())
      .Case("U64", unsignedType(64))
      .Case("U32", unsignedType(32))
      .Case("U16", unsignedType(16))
      .Case("U8", unsignedType(8))
      .Case("BOOL", builder.getI1Type())
      .Default(Type());
}

static std::string printType(Type type) {
  if (type.isInteger(1))
    return "BOOL";
  std::string width = std::to_string(type.getIntOrFloatBitWidth());
  return (type.isBF16() ? "BF" : isa<FloatType>(type) ? "F" : type.isUnsignedInteger() ? "U" : "I") + width;
}

static unsigned byteWidth(Type type) { return (type.getIntOrFloatBitWidth() + 7) / 8; }

static Element decode(Type type, const char *bytes) {
  uint64_t bits = 0;
  for (unsigned byte = 0; byte < byteWidth(type); ++byte)
    bits |= uint64_t(static_cast<uint8_t>(bytes[byte])) << (8 * byte);
  auto floatType = dyn_cast<FloatType>(type);
  if (!floatType)
    return {.i = wrapTo(type, static_cast<int64_t>(bits))};
  llvm::APFloat value(floatType.getFloatSemantics(), llvm::APInt(floatType.getWidth(), bits));
  bool inexact;
  value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &inexact);
  return {.f = value.convertToDouble()};
}

static void encode(Type type, Element element, std::string &bytes) {
  uint64_t bits = static_cast<uint64_t>(element.i);
  if (auto floatType = dyn_cast<FloatType>(type)) {
    llvm::APFloat value(element.f);
    bool inexact;
    value.convert(floatType.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &inexact);
    bits = value.bitcastToAPInt().getZExtValue();
  }
  for (unsigned byte = 0; byte < byteWidth(type); ++byte)
    bytes.push_back(static_cast<char>(bits >> (8 * byte)));
}

static llvm::Expected<Tensor> readTensor(StringRef name, const llvm::json::Object &entry, StringRef data,
                                         Builder builder) {
  auto fault = [&](const Twine &what) { return llvm::createStringError("tensor " + name + " " + what); };
  Type type = parseType(entry.getString("dtype").value_or(""), builder);
  const llvm::json::Array *sizes = entry.getArray("shape"), *range = entry.getArray("data_offsets");
  if (!type || !sizes || !range || range->size() != 2)
    return fault("has no known type, shape and range");
  Index shape;
  for (const llvm::json::Value &size : *sizes)
    shape.push_back(size.getAsInteger().value_or(-1));
  if (llvm::any_of(shape, [](int64_t size) { return size < 0; }))
    return fault("has a size that is no number");
  Tensor tensor(RankedTensorType::get(shape, type));
  int64_t begin = (*range)[0].getAsInteger().value_or(-1), end = (*range)[1].getAsInteger().value_or(-1);
  if (begin < 0 || end > static_cast<int64_t>(data.size()) || end - begin != tensor.size() * byteWidth(type))
    return fault("has " + Twine(end - begin) + " bytes for " + Twine(tensor.size()) + " elements");
  for (int64_t at = 0; at < tensor.size(); ++at)
    tensor.data[at] = decode(type, data.data() + begin + at * byteWidth(type));
  return tensor;
}

llvm::Expected<std::map<std::string, Tensor>> evaluate::readSafetensors(StringRef path, MLIRContext *context) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false);
  if (!buffer)
    return llvm::createStringError(path + ": " + buffer.getError().message());
  StringRef text = (*buffer)->getBuffer();
  uint64_t length = text.size() < 8 ? UINT64_MAX : llvm::support::endian::read64le(text.data());
  if (length > text.size() - std::min<size_t>(text.size(), 8))
    return llvm::createStringError(path + ": is cut short");
  llvm::Expected<llvm::json::Value> header = llvm::json::parse(text.substr(8, length));
  if (!header)
    return header.takeError();
  const llvm::json::Object *entries = header->getAsObject();
  if (!entries)
    return llvm::createStringError(path + ": has no header");
  std::map<std::string, Tensor> tensors;
  for (const auto &[name, value] : *entries) {
    const llvm::json::Object *entry = value.getAsObject();
    if (StringRef(name) == "__metadata__" || !entry)
      continue;
    llvm::Expected<Tensor> tensor = readTensor(StringRef(name), *entry, text.substr(8 + length), Builder(context));
    if (!tensor)
      return tensor.takeError();
    tensors[StringRef(name).str()] = std::move(*tensor);
  }
  return tensors;
}

llvm::Error evaluate::writeSafetensors(StringRef path, const std::map<std::string, Tensor> &tensors) {
  llvm::json::Object header;
  std::string data;
  for (const auto &[name, tensor] : tensors) {
    Type type = tensor.type.getElementType();
    auto begin = static_cast<int64_t>(data.size());
    for (Element element : tensor.data)
      encode(type, element, data);
    header[name] = llvm::json::Object{{"dtype", printType(type)},
                                      {"shape", llvm::json::Array(tensor.shape())},
                                      {"data_offsets", llvm::json::Array{begin, static_cast<int64_t>(data.size())}}};
  }
  std::string text;
  llvm::raw_string_ostream(text) << llvm::json::Value(std::move(header));
  text.resize(llvm::alignTo(text.size(), 8), ' ');
  std::error_code error;
  llvm::raw_fd_ostream stream(path, error);
  if (error)
    return llvm::createStringError(path + ": " + error.message());
  char length[8];
  llvm::support::endian::write64le(length, text.size());
  stream << StringRef(length, 8) << text << data;
  return llvm::Error::success();
}
