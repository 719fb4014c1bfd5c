//===- ConvolutionForm.cpp - convolutions as libraries see them -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With the strides, dilations and paddings of an instruction as s, r (window) and l (lhs), a result is
//
//   out[o] = Σ_k lhs[(o · s + k · r − low) / l] · rhs[k]
//
// Each form renames the indices such that one of the three arrays is src, and solves for its index. In the gradients
// the index of the kernel runs backwards, so an array of weights is flipped unless the instruction reverses its window.
//
//===----------------------------------------------------------------------===//

#include "ConvolutionForm.h"
#include <algorithm>
#include <optional>

using namespace meshwright;
using namespace meshwright::runtime;

namespace {

std::vector<int64_t> getSpatial(const google::protobuf::RepeatedField<int64_t> &strides) {
  return {strides.begin() + 3, strides.end()};
}

/// The channels of images are features of the instruction, or its batch where the gradient of weights contracts the
/// images.
FormImages getLhs(const Convolution &c, bool contractsImages) {
  const auto &s = c.lhs_strides();
  return {ConvolutionArray::Lhs,      c.lhs_dtype(), s[contractsImages ? 2 : 1], s[0],
          s[contractsImages ? 1 : 2], getSpatial(s)};
}

FormImages getRhsImages(const Convolution &c) {
  const auto &s = c.rhs_strides();
  return {ConvolutionArray::Rhs, c.rhs_dtype(), s[1], s[0], s[2], getSpatial(s)};
}

FormImages getOutImages(const Convolution &c) {
  const auto &s = c.out_strides();
  return {ConvolutionArray::Out, c.out_dtype(), s[1], s[0], s[2], getSpatial(s)};
}

/// Adds a dimension, if libraries have such.
bool add(ConvolutionForm &form, FormDim dim) {
  dim.flipped &= dim.kernel > 1;
  dim.high = (dim.dst - 1) * dim.stride + (dim.kernel - 1) * dim.dilation + 1 - dim.src - dim.low;
  form.dims.push_back(dim);
  return isPlain(dim);
}

std::optional<ConvolutionForm> getForward(const Convolution &c) {
  const auto &rhs = c.rhs_strides();
  ConvolutionForm form = {ConvolutionForm::Forward,
                          c.groups(),
                          c.batch(),
                          c.channels(),
                          c.features(),
                          getLhs(c, false),
                          getOutImages(c),
                          {ConvolutionArray::Rhs, c.rhs_dtype(), rhs[0], rhs[1], rhs[2], getSpatial(rhs)},
                          {}};
  for (const ConvolutionWindow &w : c.window())
    if (w.lhs_dilation() != 1 ||
        !add(form, {w.in(), w.size(), w.out(), w.stride(), w.rhs_dilation(), w.low(), 0, w.reversed()}))
      return std::nullopt;
  return form;
}

std::optional<ConvolutionForm> getData(const Convolution &c) {
  const auto &rhs = c.rhs_strides();
  ConvolutionForm form = {ConvolutionForm::Data,
                          c.groups(),
                          c.batch(),
                          c.features(),
                          c.channels(),
                          getOutImages(c),
                          getLhs(c, false),
                          {ConvolutionArray::Rhs, c.rhs_dtype(), rhs[0], rhs[2], rhs[1], getSpatial(rhs)},
                          {}};
  for (const ConvolutionWindow &w : c.window()) {
    int64_t low = (w.size() - 1) * w.rhs_dilation() - w.low();
    if (w.stride() != 1 ||
        !add(form, {w.out(), w.size(), w.in(), w.lhs_dilation(), w.rhs_dilation(), low, 0, !w.reversed()}))
      return std::nullopt;
  }
  return form;
}

/// lhs is src and rhs is dst.
std::optional<ConvolutionForm> getWeights(const Convolution &c) {
  const auto &out = c.out_strides();
  ConvolutionForm form = {ConvolutionForm::Weights,
                          c.groups(),
                          c.channels(),
                          c.batch(),
                          c.features(),
                          getLhs(c, true),
                          getRhsImages(c),
                          {ConvolutionArray::Out, c.out_dtype(), out[0], out[1], out[2], getSpatial(out)},
                          {}};
  for (const ConvolutionWindow &w : c.window())
    if (w.lhs_dilation() != 1 || (w.reversed() && w.size() > 1) ||
        !add(form, {w.in(), w.out(), w.size(), w.rhs_dilation(), w.stride(), w.low(), 0, false}))
      return std::nullopt;
  return form;
}

/// rhs is src and lhs is dst.
std::optional<ConvolutionForm> getExchangedWeights(const Convolution &c) {
  const auto &out = c.out_strides();
  ConvolutionForm form = {ConvolutionForm::Weights,
                          c.groups(),
                          c.channels(),
                          c.features(),
                          c.batch(),
                          getRhsImages(c),
                          getLhs(c, true),
                          {ConvolutionArray::Out, c.out_dtype(), out[0], out[2], out[1], getSpatial(out)},
                          {}};
  for (const ConvolutionWindow &w : c.window()) {
    int64_t low = (w.out() - 1) * w.stride() - w.low();
    if (w.rhs_dilation() != 1 || (w.reversed() && w.size() > 1) ||
        !add(form, {w.size(), w.out(), w.in(), w.lhs_dilation(), w.stride(), low, 0, true}))
      return std::nullopt;
  }
  return form;
}

/// Whether the arrays are laid out for a gradient of weights: the batch takes the place of channels, which are
/// neighbours, or else the window is larger than the result.
bool isWeightsGradient(const Convolution &c) {
  if (c.batch() > 1 && c.lhs_strides(1) == 1)
    return true;
  if (c.channels() > 1 && c.lhs_strides(2) == 1)
    return false;
  double window = 1, result = 1;
  for (const ConvolutionWindow &w : c.window()) {
    window *= static_cast<double>(w.size());
    result *= static_cast<double>(w.out());
  }
  return window > result;
}

bool isFlipped(const std::optional<ConvolutionForm> &form) {
  return !form || std::ranges::any_of(form->dims, &FormDim::flipped);
}

} // namespace

/// Whether there are elements, and products for them.
static bool hasWork(const Convolution &convolution) {
  return convolution.groups() != 0 && convolution.batch() != 0 && convolution.channels() != 0 &&
         convolution.features() != 0 && std::ranges::all_of(convolution.window(), [](const ConvolutionWindow &window) {
           return window.in() != 0 && window.size() != 0 && window.out() != 0;
         });
}

std::vector<ConvolutionForm> meshwright::runtime::getForms(const Convolution &c) {
  if (c.window_size() == 0 || !hasWork(c))
    return {};
  std::optional<ConvolutionForm> forward = getForward(c), data = getData(c), weights = getWeights(c),
                                 exchanged = getExchangedWeights(c);
  // Weights that are flipped are copied once more; outputs fill vectors, which few of them leave mostly empty.
  if (isFlipped(forward) && !isFlipped(data))
    std::swap(forward, data);
  constexpr int64_t vector = 16;
  if (c.features() < vector && c.batch() >= vector)
    std::swap(weights, exchanged);
  std::vector<ConvolutionForm> forms;
  bool isGradient = isWeightsGradient(c);
  for (const auto &form : {isGradient ? weights : forward, isGradient ? exchanged : data})
    if (form)
      forms.push_back(*form);
  return forms;
}
