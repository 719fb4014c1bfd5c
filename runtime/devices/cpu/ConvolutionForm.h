//===- ConvolutionForm.h - convolutions as libraries see them ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An instruction describes a convolution and both derivatives alike. A library of convolutions has a function for each,
// over the same three arrays:
//
//                     forward       gradient of data   gradient of weights
//   src               read          written            read
//   weights           read          read               written
//   dst               written       read               read
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_DEVICES_CPU_CONVOLUTIONFORM_H
#define MESHWRIGHT_RUNTIME_DEVICES_CPU_CONVOLUTIONFORM_H

#include "meshwright/runtime/DType.h"
#include <vector>

namespace meshwright::runtime {

/// An operand of the instruction, or its result.
enum class ConvolutionArray { Lhs, Rhs, Out };

/// The array that is src or dst; strides in elements.
struct FormImages {
  ConvolutionArray array;
  DType type;
  int64_t image, group, channel;
  std::vector<int64_t> spatial;
};

/// The array that is weights.
struct FormWeights {
  ConvolutionArray array;
  DType type;
  int64_t group, input, output;
  std::vector<int64_t> spatial;
};

/// One spatial dimension of the forward convolution: position p of dst shows elements p · stride + k · dilation − low
/// of src.
struct FormDim {
  int64_t src, kernel, dst, stride, dilation, low, high;
  /// Whether element k of the kernel is kernel − 1 − k of the array.
  bool flipped;
};

/// Whether libraries have such a dimension: with padding, or without any and with fewer elements than a stride left
/// over at the end, as a point-wise window leaves them. oneDNN 2.6 writes beyond arrays where there is padding before
/// and elements are left over.
inline bool isPlain(const FormDim &dim) {
  return dim.low >= 0 && (dim.high >= 0 || (dim.low == 0 && dim.high > -dim.stride));
}

/// Whether the window has a position in which it covers padding alone.
inline bool hasEmptyWindow(const FormDim &dim) {
  for (int64_t at = 0; at != dim.dst; ++at) {
    // The first element of the window that is not before the array.
    int64_t begin = at * dim.stride - dim.low, skipped = begin < 0 ? (-begin - 1) / dim.dilation + 1 : 0;
    if (skipped >= dim.kernel || begin + skipped * dim.dilation >= dim.src)
      return true;
  }
  return false;
}

/// A function of a library of convolutions that computes an instruction.
struct ConvolutionForm {
  enum Kind { Forward, Data, Weights };
  Kind kind;
  int64_t groups, images;
  int64_t inputs, outputs; ///< channels of src and dst of a group
  FormImages src, dst;
  FormWeights weights;
  std::vector<FormDim> dims;
};

/// The forms of a checked convolution, the best first; none where no function computes it, or where it has no elements
/// or products. A window that slides over dilated elements is a gradient of data, a window as large as images is one of
/// weights.
std::vector<ConvolutionForm> getForms(const Convolution &convolution);

} // namespace meshwright::runtime

#endif
