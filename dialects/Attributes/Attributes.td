//===- Attributes.td - the attributes by which stages talk ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every discardable attribute of the dialects is declared here, once. generate.py makes the C++ names, the table of the
// verifiers and of `inherit`, and docs/reference/attributes.md of it.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECTS_ATTRIBUTES_ATTRIBUTES_TD
#define MESHWRIGHT_DIALECTS_ATTRIBUTES_ATTRIBUTES_TD

include "dialects/Attributes/AttributesBase.td"
include "dialects/Dist/DistBase.td"
include "dialects/Given/GivenBase.td"
include "dialects/Net/NetBase.td"

/// One placement per operand or result; a unit for a value whose placement is not decided.
def Dist_MappingArrayAttr : TypedArrayAttrBase<AnyAttrOf<[Dist_MappingAttr, UnitAttr]>, "array of placements">;

def Dist_CoordinatesAttr : Attr<And<[
    CPred<"::llvm::isa<::mlir::DictionaryAttr>($_self)">,
    CPred<"::llvm::all_of(::llvm::cast<::mlir::DictionaryAttr>($_self), [](::mlir::NamedAttribute axis) "
          "{ return ::llvm::isa<::mlir::DenseI64ArrayAttr>(axis.getValue()); })">]>,
    "dictionary of i64 arrays, the coordinates by axis"> {
  let storageType = "::mlir::DictionaryAttr";
}

//===----------------------------------------------------------------------===//
// The serial network
//===----------------------------------------------------------------------===//

def RoleAttribute : Attribute<"net.role", Net_RoleAttr, [OnOperation]> {
  let meaning = "The part of the training step that the operation belongs to.";
  let writtenBy = ["dist-import-annotate-names", "dist-import-recognize-step", "every pass that adds operations"];
  let readBy = [Import, Train, Annotate, Complete, Partition, Optimize, Schedule, Pipeline];
  let from = Import;
  let by = [Conversion, TaskLowering, Reader, LoopPart, Companion];
}

def ScopeAttribute : Attribute<"net.scope", StrAttr, [OnOperation]> {
  let meaning = "The user's name of the place in the network, as in `transformer.h.3.attn`.";
  let writtenBy = ["dist-import-annotate-names", "dist-import-inline-calls", "dist-import-find-blocks",
                   "every pass that adds operations"];
  let readBy = [Import, Train, Annotate, Complete, Partition, Schedule, Emit, Pipeline];
  let from = Import;
  let by = [Conversion, LoopPart, Companion, OtherRole];
}

def NameAttribute : Attribute<"net.name", StrAttr, [OnOperation, OnArgument, OnResult]> {
  let meaning = [{
    The user's name: on an operation that of its first result (`grad/p.w` for the gradient of `p.w`), on an argument
    or result that of the input or output. Where an operation is cloned, the name stays with the origin.
  }];
  let writtenBy = ["dist-import-annotate-names", "dist-import-recognize-step", "dist-train-differentiate",
                   "dist-train-optimizer", "dist-train-accumulate-gradients", "dist-train-fetch",
                   "dist-schedule-materialize-copies"];
  let readBy = [Import, Train, Annotate, Complete, Schedule, Emit, Pipeline];
  let from = User;
  let notBy = [Clone];
}

def RecomputedAttribute : Attribute<"net.recomputed", I64Attr, [OnOperation]> {
  let meaning = "A number; backward computes the result a second time, by operations whose `net.recomputes` is this number.";
  let writtenBy = ["dist-complete-recompute"];
  let readBy = [Pipeline];
  let from = Complete;
  let notBy = [Clone];
}

def RecomputesAttribute : Attribute<"net.recomputes", I64Attr, [OnOperation]> {
  let meaning = "The `net.recomputed` of the operation of forward whose result this one computes a second time.";
  let writtenBy = ["dist-complete-recompute"];
  let readBy = [Partition, Schedule, Pipeline];
  let from = Complete;
  let by = [Conversion, TaskLowering];
}

def SumPartsAttribute : Attribute<"net.sum_parts", I64Attr, [OnOperation, OnFunction]> {
  let meaning = [{
    The order of sums of floats is fixed. On a function: sums of partial values do not pass operations that round. On a
    reduction, product or scatter: the number of parts of equal size, but for the last, in which the first dimension that
    it sums is added up; a binary tree of neighbours adds the parts. On a conversion: it rounds the parts of its operand.
    On one rank it is the number of parts that the rank has.
  }];
  let writtenBy = ["dist-train-fix-sums", "dist-partition-localize-shapes"];
  let readBy = [Complete, Partition, Optimize, Schedule, Emit];
  let from = Train;
}

def BatchDimAttribute : Attribute<"net.batch_dim", I64Attr, [OnArgument]> {
  let meaning = "The dimension of the input that is the batch; absent where no dimension is.";
  let writtenBy = ["the strategy's `inputs`"];
  let readBy = [Emit, Pipeline];
  let from = Import;
}

def MinAttribute : Attribute<"net.min", F64Attr, [OnArgument]> {
  let meaning = "The least value that a run accepts in the input.";
  let writtenBy = ["the strategy's `inputs`"];
  let readBy = [Emit];
  let from = Import;
}

def MaxAttribute : Attribute<"net.max", F64Attr, [OnArgument]> {
  let meaning = "The greatest value that a run accepts in the input.";
  let writtenBy = ["the strategy's `inputs`"];
  let readBy = [Emit];
  let from = Import;
}

//===----------------------------------------------------------------------===//
// Placements that come with the graph
//===----------------------------------------------------------------------===//

def GivenMeshAttribute : Attribute<"given.mesh", Given_MeshAttr, [OnModule]> {
  let meaning = "The mesh of the shardings that the graph came with.";
  let writtenBy = ["dist-import-read-shardings"];
  let readBy = [Import, Annotate, Complete, Pipeline];
  let from = Import;
  let until = Complete;
}

def GivenShardingAttribute : Attribute<"given.sharding", Given_ShardingAttr, [OnVariable, OnArgument, OnResult]> {
  let meaning = "How the exporter's annotations split the variable, the input or the output.";
  let writtenBy = ["dist-import-read-shardings", "dist-import-materialize-variables"];
  let readBy = [Import, Annotate, Complete, Pipeline];
  let from = Import;
  let until = Complete;
}

//===----------------------------------------------------------------------===//
// The mesh
//===----------------------------------------------------------------------===//

def DataAxesAttribute : Attribute<"dist.data_axes", StrArrayAttr, [OnMesh]> {
  let meaning = "The axes that split the batch.";
  let writtenBy = ["dist-annotate-placements"];
  let readBy = [Complete];
  let from = Annotate;
}

def RanksPerNodeAttribute : Attribute<"dist.ranks_per_node", I64Attr, [OnMesh]> {
  let meaning = "The number of consecutive ranks that share a node; absent where one node holds all.";
  let writtenBy = ["dist-annotate-placements"];
  let readBy = [Pipeline];
  let from = Annotate;
}

def StageAxisAttribute : Attribute<"dist.stage_axis", StrAttr, [OnMesh]> {
  let meaning = "The axis along which the ranks form a pipeline; absent where there is no pipeline.";
  let writtenBy = ["dist-annotate-placements"];
  let readBy = [Complete, Partition, Optimize, Schedule, Pipeline];
  let from = Annotate;
}

def TaskOrderAttribute : Attribute<"dist.task_order", StrAttr, [OnMesh]> {
  let meaning = [{
    The tasks of every rank of the pipeline in their order, as CSV (TaskOrder.h). It also says which rank holds which
    stage.
  }];
  let writtenBy = ["dist-annotate-placements"];
  let readBy = [Complete, Partition, Optimize, Schedule, Pipeline];
  let from = Annotate;
}

//===----------------------------------------------------------------------===//
// Placements of whole values
//===----------------------------------------------------------------------===//

def ResultsAttribute : Attribute<"dist.results", Dist_MappingArrayAttr, [OnOperation]> {
  let meaning = "The placement of every result; a unit where it is not decided.";
  let writtenBy = ["dist-annotate-placements", "dist-complete-propagate", "dist-complete-segment",
                   "dist-complete-fetch-in-loops", "dist-partition-materialize-reshards"];
  let readBy = [Complete, Partition, Pipeline];
  let from = Annotate;
  let until = Partition;
  let notBy = [Local];
}

def OperandsAttribute : Attribute<"dist.operands", Dist_MappingArrayAttr, [OnOperation]> {
  let meaning = "The placement in which the operation reads every operand.";
  let writtenBy = ["dist-complete-propagate", "dist-complete-segment", "dist-complete-fetch-in-loops",
                   "dist-partition-materialize-reshards"];
  let readBy = [Complete, Partition];
  let from = Complete;
  let until = Partition;
  let notBy = [Local];
}

def ComputesAttribute : Attribute<"dist.computes", Dist_MappingArrayAttr, [OnOperation]> {
  let meaning = "The placement of every result before it is reduced; absent where that is `dist.results`.";
  let writtenBy = ["dist-complete-propagate", "dist-partition-materialize-reshards"];
  let readBy = [Complete, Partition, Pipeline];
  let from = Complete;
  let until = Partition;
  let notBy = [Local];
}

def MappingAttribute : Attribute<"dist.mapping", Dist_MappingAttr, [OnVariable, OnArgument, OnResult]> {
  let meaning = "The placement of the variable, the input or the output.";
  let writtenBy = ["dist-annotate-placements", "dist-complete-propagate", "dist-partition-materialize-reshards",
                   "dist-partition-localize-shapes", "dist-schedule-cut-tasks", "dist-schedule-keep-across-slices"];
  let readBy = [Annotate, Complete, Partition, Schedule, Emit, Pipeline];
  let from = Annotate;
}

def DeferReductionAttribute : Attribute<"dist.defer_reduction", UnitAttr, [OnOperation]> {
  let meaning = [{
    Partial operands pass through the operation before they are reduced, whatever that costs. A conversion between
    floats that has it is linear: its sum is communicated in the type that it converts to.
  }];
  let writtenBy = ["dist-train-differentiate", "dist-train-reduce-gradients", "dist-train-accumulate-gradients",
                   "dist-train-optimizer", "dist-train-unscale-gradients", "dist-train-mark-norms",
                   "dist-complete-propagate"];
  let readBy = [Train, Complete, Partition];
  let from = Train;
}

def MemoryAttribute : Attribute<"dist.memory", Dist_MemoryKindAttr, [OnVariable]> {
  let meaning = "The memory that holds the variable; absent where that is the device's.";
  let writtenBy = ["dist-annotate-placements"];
  let readBy = [Schedule, Emit, Pipeline];
  let from = Annotate;
}

def GlobalTypeAttribute : Attribute<"net.global_type", TypeAttrOf<AnyRankedTensor>, [OnVariable, OnArgument, OnResult]> {
  let meaning = "The type of the whole value, where the type in the program is that of one rank's part.";
  let writtenBy = ["dist-partition-localize-shapes"];
  let readBy = [Partition, Schedule, Emit, Pipeline];
  let from = Partition;
}

//===----------------------------------------------------------------------===//
// The operations' stage, segment, ranks and times
//===----------------------------------------------------------------------===//

def StageAttribute : Attribute<"dist.stage", I64Attr, [OnOperation]> {
  let meaning = [{
    The stage of the pipeline, on operations of forward and backward. Operations without it depend on inputs and
    constants alone and run wherever they are read, or belong to the update.
  }];
  let writtenBy = ["dist-annotate-placements", "dist-complete-segment", "every pass that adds operations"];
  let readBy = [Complete, Partition, Optimize, Schedule, Pipeline];
  let from = Annotate;
  let by = [Conversion, Lowering, TaskLowering, Reader, Companion];
}

def SegmentAttribute : Attribute<"dist.segment", I64Attr, [OnOperation]> {
  let meaning = [{
    The segment of forward and backward (one count) where FSDP gathers parameters by segments. A read has the segment
    that it serves.
  }];
  let writtenBy = ["dist-complete-segment"];
  let readBy = [Schedule, Pipeline];
  let from = Complete;
  let by = [Conversion, Lowering, TaskLowering, Reader, LoopPart];
}

def FetchAtAttribute : Attribute<"dist.fetch_at", I64Attr, [OnOperation]> {
  let meaning = "The segment at whose beginning the gather of a parameter starts, on the reads and conversions of that gather.";
  let writtenBy = ["dist-complete-segment", "dist-partition-materialize-reshards"];
  let readBy = [Partition, Schedule, Pipeline];
  let from = Complete;
  let by = [Conversion];
}

def ReasonAttribute : Attribute<"dist.reason", StrAttr, [OnOperation]> {
  let meaning = "The reason for a conversion, shown by `--plan` and `--explain`.";
  let writtenBy = ["dist-complete-segment", "dist-partition-materialize-reshards", "dist-optimize-split-sends"];
  let readBy = [Emit, Pipeline];
  let from = Complete;
  let by = [Conversion];
}

def OnAttribute : Attribute<"dist.on", Dist_CoordinatesAttr, [OnOperation, OnFunction]> {
  let meaning = [{
    The ranks, and later the times, that run the operation or function, by coordinates of axes; absent where all do.
  }];
  let writtenBy = ["dist-partition-localize-shapes", "dist-schedule-cut-tasks", "dist-schedule-assign-times",
                   "dist-schedule-specialize"];
  let readBy = [Complete, Partition, Optimize, Schedule, Emit, Pipeline];
  let from = Complete;
  let by = [Lowering, TaskLowering, LoopPart, OtherRole];
  let notBy = [Specialization];
}

def DuringAttribute : Attribute<"dist.during", Dist_CoordinatesAttr, [OnAssign, OnFunction, OnResult]> {
  let meaning = [{
    The times at which the assignment, function or result takes place, by coordinates of axes of times; absent where
    that is always. `{accumulation = array<i64: 3>}` is the last of four accumulated steps.
  }];
  let writtenBy = ["dist-train-accumulate-gradients", "dist-train-put-off-updates", "dist-partition-localize-shapes",
                   "dist-schedule-cut-tasks"];
  let readBy = [Train, Partition, Schedule, Emit];
  let from = Train;
}

def OnceAttribute : Attribute<"dist.once", UnitAttr, [OnOperation, OnVariable]> {
  let meaning = [{
    The value is the same in every micro-batch; it is made once in a step and kept, in a variable that has this
    attribute too.
  }];
  let writtenBy = ["dist-optimize-keep-fetches", "dist-schedule-keep-across-slices"];
  let readBy = [Schedule, Pipeline];
  let from = Optimize;
  let by = [Lowering, TaskLowering];
}

//===----------------------------------------------------------------------===//
// Functions and variables of a pipeline
//===----------------------------------------------------------------------===//

def ActionAttribute : Attribute<"dist.action", StrAttr, [OnFunction]> {
  let meaning = "The name of the part of a step that the function is, by which a `dist.schedule` orders it.";
  let writtenBy = ["dist-schedule-cut-tasks"];
  let readBy = [Schedule, Emit, Pipeline];
  let from = Schedule;
}

def StartsAttribute : Attribute<"dist.starts", UnitAttr, [OnFunction]> {
  let meaning = "The function only starts its communication; an item of the schedule waits for it.";
  let writtenBy = ["dist-schedule-cut-tasks"];
  let readBy = [Schedule, Emit];
  let from = Schedule;
}

def WithinStepAttribute : Attribute<"dist.within_step", UnitAttr, [OnVariable]> {
  let meaning = [{
    The variable is written and read within one step: no program starts with its value, and no checkpoint holds it.
  }];
  let writtenBy = ["dist-partition-localize-shapes", "dist-schedule-cut-tasks", "dist-schedule-keep-across-slices"];
  let readBy = [Optimize, Schedule, Emit];
  let from = Partition;
}

def SlotsAttribute : Attribute<"dist.slots", I64Attr, [OnVariable]> {
  let meaning = [{
    The number of micro-batches whose values the variable holds at once; micro-batch b is in slot b modulo this
    number. Absent where one value serves all.
  }];
  let writtenBy = ["dist-schedule-cut-tasks"];
  let readBy = [Schedule, Emit, Pipeline];
  let from = Schedule;
}

//===----------------------------------------------------------------------===//
// Communication
//===----------------------------------------------------------------------===//

def PartsAttribute : Attribute<"dist.parts", StrArrayAttr, [OnCollective]> {
  let meaning = [{
    The name of each part of a launch of several parts. Their locations are the fused locations of the operation, in
    the same order.
  }];
  let writtenBy = ["dist-schedule-communicate", "dist-schedule-communicate-in-loops"];
  let readBy = [Schedule, Emit];
  let from = Schedule;
}

def TagAttribute : Attribute<"dist.tag", I64Attr, [OnCollective, OnLoop]> {
  let meaning = "A number that the programs of all members of a group have for the same collective or loop.";
  let writtenBy = ["dist-schedule-specialize"];
  let readBy = [Schedule, Emit];
  let from = Schedule;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

def OffsetsAttribute : Attribute<"dist.offsets", DenseI64ArrayAttr, [OnOperation]> {
  let meaning = "The offset of each result in the arena, in bytes.";
  let writtenBy = ["dist-schedule-assign-buffers"];
  let readBy = [Schedule, Emit];
  let from = Schedule;
}

def IterationBytesAttribute : Attribute<"dist.iteration_bytes", DenseI64ArrayAttr, [OnOperation]> {
  let meaning = [{
    For each result that a loop makes in its place in a stack, the bytes from one iteration's place to the next; 0 for a
    result with the same place in every iteration.
  }];
  let writtenBy = ["dist-schedule-assign-buffers"];
  let readBy = [Schedule];
  let from = Schedule;
}

def InHostArenaAttribute : Attribute<"dist.in_host_arena", UnitAttr, [OnOperation]> {
  let meaning = "The offsets are in the host's arena, not in the device's.";
  let writtenBy = ["dist-schedule-assign-buffers"];
  let readBy = [Schedule, Emit];
  let from = Schedule;
}

def OffsetAttribute : Attribute<"dist.offset", I64Attr, [OnArgument]> {
  let meaning = "The offset of the input in the arena, in bytes.";
  let writtenBy = ["dist-schedule-assign-buffers"];
  let readBy = [Schedule, Emit];
  let from = Schedule;
}

def OutputsAttribute : Attribute<"dist.outputs", DenseI64ArrayAttr, [OnFunction]> {
  let meaning = "On programs of some times: the offsets of the function's results, in bytes.";
  let writtenBy = ["dist-schedule-assign-buffers"];
  let readBy = [Schedule, Emit];
  let from = Schedule;
}

def VariablesAttribute : Attribute<"dist.variables", DictionaryAttr, [OnFunction]> {
  let meaning = "The offset of every variable that the function uses, by name, in bytes.";
  let writtenBy = ["dist-schedule-assign-buffers"];
  let readBy = [Schedule, Emit];
  let from = Schedule;
}

def ArenaBytesAttribute : Attribute<"dist.arena_bytes", I64Attr, [OnFunction]> {
  let meaning = "The size of the device's arena.";
  let writtenBy = ["dist-schedule-assign-buffers"];
  let readBy = [Schedule, Emit, Pipeline];
  let from = Schedule;
}

def HostArenaBytesAttribute : Attribute<"dist.host_arena_bytes", I64Attr, [OnFunction]> {
  let meaning = "The size of the host's arena; absent where it is empty.";
  let writtenBy = ["dist-schedule-assign-buffers"];
  let readBy = [Schedule, Emit, Pipeline];
  let from = Schedule;
}

def PersistentBytesAttribute : Attribute<"dist.persistent_bytes", I64Attr, [OnFunction]> {
  let meaning = "The bytes at the beginning of the device's arena that are kept from step to step.";
  let writtenBy = ["dist-schedule-assign-buffers"];
  let readBy = [Schedule, Emit, Pipeline];
  let from = Schedule;
}

def ReservedBytesAttribute : Attribute<"dist.reserved_bytes", DenseI64ArrayAttr, [OnModule]> {
  let meaning = [{
    The bytes at the beginning of the device's arena and of the host's that another module's programs keep from step to
    step. Only shared variables have places there.
  }];
  let writtenBy = ["the compilation of an evaluation program"];
  let readBy = [Schedule];
  let from = Schedule;
}

def SharedAttribute : Attribute<"dist.shared", UnitAttr, [OnVariable]> {
  let meaning = "Another program reads the variable where it is kept. Shared variables come first in the memory of both.";
  let writtenBy = ["the compilation of an evaluation program"];
  let readBy = [Schedule];
  let from = Import;
}

def EpilogueAttribute : Attribute<"dist.epilogue", UnitAttr, [OnMatmul]> {
  let meaning = [{
    A library may compute the kernel after the product with it (ProductEpilogue.h); the operands of the product stay
    in memory until that kernel is over.
  }];
  let writtenBy = ["dist-schedule-annotate-epilogues"];
  let readBy = [Schedule, Emit];
  let from = Schedule;
}

#endif
