/*===- Runtime.h - the runtime from C -----------------------------*- C -*-===*\
|*
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|* Everything that a function creates is the caller's until the function that destroys it, in any order: a session keeps
|* what it needs of its package, and a package of its runtime. Texts and arrays that are passed in are not kept; what is
|* returned lives as long as the object that was asked. A function that fails returns an object without a pointer or a
|* status, and has said why by the callback of the runtime, on the calling thread. No exception leaves a function, and
an
|* error leaves all objects usable.
|*
|* An object belongs to one thread at a time, but for `mwSessionInterrupt`; several may be used at the same time, also
|* sessions of one package.
|*
\*===----------------------------------------------------------------------===*/

#ifndef MESHWRIGHT_C_RUNTIME_H
#define MESHWRIGHT_C_RUNTIME_H

#include "meshwright-c/Common.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct MwRuntime {
  void *pointer;
} MwRuntime;
typedef struct MwPackage {
  void *pointer;
} MwPackage;
typedef struct MwSession {
  void *pointer;
} MwSession;

/** Success, or the kind of an error: a package, file or value is at fault; the call itself is; a comparison found a
 * difference; something broke while running. */
typedef enum MwStatus { MwStatusOk, MwStatusInput, MwStatusUsage, MwStatusCheckFailed, MwStatusFault } MwStatus;

/** Types of elements, called as in messages. An I1 is a byte, 0 or 1. */
typedef enum MwElementType {
  MwElementTypeInvalid,
  MwElementTypeF32,
  MwElementTypeF64,
  MwElementTypeBF16,
  MwElementTypeF16,
  MwElementTypeI1,
  MwElementTypeI8,
  MwElementTypeI16,
  MwElementTypeI32,
  MwElementTypeI64,
  MwElementTypeU8,
  MwElementTypeU16,
  MwElementTypeU32,
  MwElementTypeU64,
  MwElementTypeF8E4M3FN,
  MwElementTypeF8E5M2,
  MwElementTypeF8E4M3B11FNUZ,
  MwElementTypeF8E4M3FNUZ,
  MwElementTypeF8E5M2FNUZ,
  MwElementTypeF8E4M3,
  MwElementTypeF8E3M4,
  /** No type: any number may be passed, and is an error if it is none of the above. */
  MwElementTypeAny = 0x7fffffff
} MwElementType;

/** The name of a type: `f32`; empty for what is none. */
MwString mwElementTypeGetName(MwElementType type);
/** The bytes of an element; 0 for what is no type. */
size_t mwElementTypeGetSize(MwElementType type);

/** The version of the runtime: `0.1.0`. */
MwString mwRuntimeGetVersion(void);
/** Creates a runtime, whose diagnostics go to `callback`; a null callback drops them. */
MwRuntime mwRuntimeCreate(MwDiagnosticCallback callback, void *userData);
void mwRuntimeDestroy(MwRuntime runtime);

/*===----------------------------------------------------------------------===*\
|* Packages
\*===----------------------------------------------------------------------===*/

/** Opens and checks the package in a folder. */
MwPackage mwPackageOpen(MwRuntime runtime, MwString folder);
void mwPackageDestroy(MwPackage package);

typedef struct MwPackageInfo {
  int64_t numRanks;
  size_t numAxes;
  /** So many steps are accumulated into one update. */
  uint32_t accumulationSteps;
  bool hasSerial;
  /** Stands for all files of the package. */
  uint64_t hash;
  /** The scalar output that is the loss, and how the package was made; empty where it does not say. */
  MwString loss, producer;
} MwPackageInfo;
void mwPackageGetInfo(MwPackage package, MwPackageInfo *info);

/** An axis of the mesh, the slowest first. False if there is none of that number. */
bool mwPackageGetAxis(MwPackage package, size_t index, MwString *name, int64_t *size);

/** The values of a package, each of which is an array spread over the ranks. */
typedef enum MwValueKind {
  MwValueInput,
  MwValueOutput,
  MwValueVariable,
  /** No kind: any number may be passed, and is an error if it is none of the above. */
  MwValueAny = 0x7fffffff
} MwValueKind;

typedef struct MwValueInfo {
  MwString name;
  MwElementType type;
  /** The global shape. */
  const int64_t *shape;
  size_t numDims;
  /** The bytes of the whole array. */
  uint64_t bytes;
  /** As in the plan: `[["dp"], []]`. */
  MwString placement;
  /** Of a variable its kind, `parameter` or `optimizer state` and the like, and its place in the graph; else empty. */
  MwString variableKind, location;
  /** True if a variable has an initializer. */
  bool hasInitializer;
  /** True if an output is a result of the graph itself, and if it is known after the last step of an accumulation
   * alone. */
  bool isResult, isOfUpdate;
  /** The dimension of an input that is the batch; -1 where none is. */
  int64_t batchDim;
} MwValueInfo;

size_t mwPackageGetNumValues(MwPackage package, MwValueKind kind);
/** False if there is no value of that number. */
bool mwPackageGetValue(MwPackage package, MwValueKind kind, size_t index, MwValueInfo *info);

/** The programs of a package that evaluate, as a package with inputs and outputs of its own and some of the variables;
 * without a pointer where there are none. */
MwPackage mwPackageGetEvaluation(MwPackage package);

/*===----------------------------------------------------------------------===*\
|* Sessions
\*===----------------------------------------------------------------------===*/

/** A whole array of the caller's, row-major. */
typedef struct MwArray {
  MwString name;
  MwElementType type;
  const int64_t *shape;
  size_t numDims;
  const void *data;
} MwArray;

typedef struct MwSessionOptions {
  /** `cpu` or `cuda`; empty for `cpu`. The target whose kernels run; empty for the first that the device can run. */
  MwString device, target;
  /** Threads that a rank computes on; 0 for those of OMP_NUM_THREADS or, without it, its share of the host's cores. */
  int32_t threads;
  /** True to run the serial program of the package. */
  bool isSerial;
  /** After so many seconds in which nothing moves, a step has failed; 0 for 600. */
  double timeoutSeconds;
} MwSessionOptions;

/** Prepares the ranks of a package as threads of this process. Null options are all empty. Variables get values by
 * `mwSessionInitialize` or `mwSessionRestore`. */
MwSession mwSessionCreate(MwPackage package, const MwSessionOptions *options);
void mwSessionDestroy(MwSession session);
/** Prepares the programs that evaluate, in the memory of `session`, which trains, and on its variables. A step of the
 * new session evaluates one batch; all steps of both belong to one thread at a time. A step of either session makes the
 * outputs of the other one unknown. Variables get values by the session that trains alone. It is kept until both are
 * destroyed. */
MwSession mwSessionCreateEvaluation(MwSession session);

/** Gives every variable its first value: that of the array of its name, else of the tensor in the safetensors file,
 * else of its initializer with this seed. `file` may be empty. */
MwStatus mwSessionInitialize(MwSession session, MwString file, const MwArray *arrays, size_t numArrays, uint64_t seed);

/** Runs one step with the inputs in `feeds`, all of them by name. Integers may have another integer type than the
 * input, as long as every value fits. An error of an input leaves the session as it was; after one of the step itself
 * only another session can go on. */
MwStatus mwSessionStep(MwSession session, const MwArray *feeds, size_t numFeeds);
/** Lets a step that another thread runs end soon, with an error. Does nothing between steps. */
void mwSessionInterrupt(MwSession session);
/** The number of steps that were done since the initial values. */
uint64_t mwSessionGetStep(MwSession session);

/** True if the last step computed an output. */
bool mwSessionIsKnown(MwSession session, size_t output);
/** Copies the whole array of an output or variable into `bytes` bytes at `data`. */
MwStatus mwSessionGetValue(MwSession session, MwValueKind kind, size_t index, void *data, size_t bytes);
/** The array of an output or variable that one rank holds whole in this host's memory, without a copy; null where none
 * does. It changes with the next step, and is there as long as the session. */
const void *mwSessionGetView(MwSession session, MwValueKind kind, size_t index);
/** Copies an array into a variable on all ranks; its name is not looked at. */
MwStatus mwSessionSetVariable(MwSession session, size_t index, const MwArray *array);

/** Writes all variables but accumulators to a safetensors file. */
MwStatus mwSessionSave(MwSession session, MwString file);
/** Writes a checkpoint of all variables and the number of steps to a folder, which keeps the last `keep` ones. */
MwStatus mwSessionSaveCheckpoint(MwSession session, MwString folder, uint64_t keep);
/** Restores a checkpoint of any mesh: the one that `path` names, or the newest in it. */
MwStatus mwSessionRestore(MwSession session, MwString path);

#ifdef __cplusplus
}
#endif

#endif
