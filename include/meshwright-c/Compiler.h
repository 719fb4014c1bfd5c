/*===- Compiler.h - the compiler from C ---------------------------*- C -*-===*\
|*
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|* Everything that a function creates is the caller's until the function that destroys it. Texts that are passed in are
|* not kept; texts that are returned live as long as the object that was asked. A function that fails returns an object
|* without a pointer, and has said why by the callback of the context. No exception leaves a function.
|*
|* A context and all that is made in it belong to one thread at a time; several contexts may be used at the same time.
|*
\*===----------------------------------------------------------------------===*/

#ifndef MESHWRIGHT_C_COMPILER_H
#define MESHWRIGHT_C_COMPILER_H

#include "meshwright-c/Common.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct MwContext {
  void *pointer;
} MwContext;
typedef struct MwStrategy {
  void *pointer;
} MwStrategy;
typedef struct MwCompiled {
  void *pointer;
} MwCompiled;

/** The version of the compiler: `0.1.0`. */
MwString mwGetVersion(void);

/** Creates a context, whose diagnostics go to `callback`; a null callback drops them. */
MwContext mwContextCreate(MwDiagnosticCallback callback, void *userData);
/** Everything that was made in the context has been destroyed before. */
void mwContextDestroy(MwContext context);

/** Parses and checks a strategy in protobuf text format. Diagnostics call it `name`. `ranks` is the number of ranks for
 * an axis of size 0; 0 without one. */
MwStrategy mwStrategyParse(MwContext context, MwString text, MwString name, int64_t ranks);
void mwStrategyDestroy(MwStrategy strategy);

/** The form of a module of StableHLO: none is written, ranks are partitions of whole arrays, or ranks are replicas. */
typedef enum MwStableHLOForm { MwStableHLONone, MwStableHLOManual, MwStableHLOReplicas } MwStableHLOForm;

typedef struct MwCompileOptions {
  /** The last stage: `import` to `schedule`; empty for `schedule`. */
  MwString lastStage;
  /** True to skip the passes of Optimize. */
  bool skipsOptimize;
  /** The folder of a package to write after the last stage; empty to write none. */
  MwString emit;
  /** The targets of the package's kernels, separated by commas; empty for `x86-64-v3`. */
  MwString targets;
  /** A folder of compiled kernels; empty for none. */
  MwString kernelCache;
  /** Called before each stage, on the compiling thread, with its name; where it returns false the compilation ends with
   * an error. Null for none. */
  bool (*progress)(MwString stage, void *userData);
  void *progressUserData;
  /** The form of the step as StableHLO; see `mwCompiledGetStableHLO`. */
  MwStableHLOForm stableHLO;
  /** The network that the package evaluates, StableHLO text that diagnostics call `evaluationName`. Empty for the
   * forward part of the graph if the strategy says `eval`, else for none. */
  MwString evaluation, evaluationName;
} MwCompileOptions;

/** Compiles `graph`, StableHLO text that diagnostics call `name`. A strategy without a pointer is one rank without
 * training; null options are all empty. */
MwCompiled mwCompile(MwContext context, MwString graph, MwString name, MwStrategy strategy,
                     const MwCompileOptions *options);
void mwCompiledDestroy(MwCompiled compiled);

/** The distributed step as MLIR text; made by the first call. */
MwString mwCompiledGetText(MwCompiled compiled);
/** The plan as JSON, and as text that says of every conversion why it is there; empty where the last stage comes before
 * Partition. */
MwString mwCompiledGetPlan(MwCompiled compiled);
MwString mwCompiledGetExplanation(MwCompiled compiled);
/** The step after Optimize as StableHLO text, whose first line is a comment with the arguments and results as JSON; of
 * a pipeline, a line of JSON with its values, actions and order, and each module after a line `// ----- NAME`. Empty
 * where the options did not ask for it. */
MwString mwCompiledGetStableHLO(MwCompiled compiled);

#ifdef __cplusplus
}
#endif

#endif
