//===- ConvolutionWriter.cpp - writes the instruction of a convolution ----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ConvolutionWriter.h"
#include "Enumerations.h"
#include "dialects/Dist/Interfaces.h"
#include "dialects/Net/NetBuilder.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::emit;
using net::typeOf;

/// Adds the strides of a contiguous tensor along its groups, each of which has `inGroup` indices of dimension
/// `grouped`, then along `first`, `second` and the spatial dimensions.
static void addStrides(google::protobuf::RepeatedField<int64_t> &strides, RankedTensorType type, int64_t grouped,
                       int64_t inGroup, int64_t first, int64_t second, ArrayRef<int64_t> spatial) {
  SmallVector<int64_t> all = computeStrides(type.getShape());
  strides.Add(all[grouped] * inGroup);
  strides.Add(all[first]);
  strides.Add(all[second]);
  for (int64_t dim : spatial)
    strides.Add(all[dim]);
}

void emit::writeConvolution(net::ConvolutionOp op, BufferTable &buffers, Instruction &instruction) {
  Convolution &convolution = *instruction.mutable_convolution();
  net::ConvolutionDimsAttr dims = op.getDims();
  RankedTensorType lhs = typeOf(op.getLhs()), rhs = typeOf(op.getRhs()), out = typeOf(op.getResult());
  convolution.set_lhs(buffers.get(op.getLhs()));
  convolution.set_rhs(buffers.get(op.getRhs()));
  convolution.set_out(buffers.get(op.getResult()));
  convolution.set_lhs_dtype(getDType(lhs.getElementType()));
  convolution.set_rhs_dtype(getDType(rhs.getElementType()));
  convolution.set_out_dtype(getDType(out.getElementType()));
  // At most one of the two kinds of groups is larger than 1, so their product is the number of groups.
  int64_t groups = op.getGroups() * op.getBatchGroups();
  int64_t batch = out.getDimSize(dims.getOutBatch()), channels = rhs.getDimSize(dims.getRhsInput());
  int64_t features = rhs.getDimSize(dims.getRhsOutput()) / groups;
  convolution.set_groups(groups);
  convolution.set_batch(batch);
  convolution.set_channels(channels);
  convolution.set_features(features);
  convolution.set_ordered(net::kSumPartsAttr.isOn(op));
  bool splitsBatch = op.getBatchGroups() > 1;
  addStrides(*convolution.mutable_lhs_strides(), lhs, splitsBatch ? dims.getLhsBatch() : dims.getLhsFeature(),
             splitsBatch ? batch : channels, dims.getLhsBatch(), dims.getLhsFeature(), dims.getLhsSpatial());
  addStrides(*convolution.mutable_rhs_strides(), rhs, dims.getRhsOutput(), features, dims.getRhsInput(),
             dims.getRhsOutput(), dims.getRhsSpatial());
  addStrides(*convolution.mutable_out_strides(), out, dims.getOutFeature(), features, dims.getOutBatch(),
             dims.getOutFeature(), dims.getOutSpatial());
  for (unsigned index = 0; index < dims.getLhsSpatial().size(); ++index) {
    net::WindowDim window = op.getWindow(index);
    ConvolutionWindow &entry = *convolution.add_window();
    entry.set_in(lhs.getDimSize(dims.getLhsSpatial()[index]));
    entry.set_size(window.size);
    entry.set_out(out.getDimSize(dims.getOutSpatial()[index]));
    entry.set_stride(window.stride);
    entry.set_low(window.low);
    entry.set_lhs_dilation(window.baseDilation);
    entry.set_rhs_dilation(window.windowDilation);
    entry.set_reversed(op.getReversed()[index]);
  }
  instruction.set_flops(cast<dist::CostOpInterface>(op.getOperation()).getFlops());
}
