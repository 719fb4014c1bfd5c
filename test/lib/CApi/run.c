/*===- run.c - runs a package by the C API ------------------------*- C -*-===*\
|*
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|* usage: c-run PACKAGE FILE
|*
|* Runs a package whose inputs are f32, with the numbers 0, 1/8, 2/8, … modulo 2, or i32, with 0, 1, 2, … modulo 10, for
two
|* steps in two sessions, after calls that are wrong in every way that the interface can be called wrongly. Prints the
values of the package,
|* diagnostics, and the outputs of each step; writes the variables of the first session to FILE, and fails where those
of
|* the second, which starts from a checkpoint of the first, are different. Before the second step of each session the
|* package evaluates the same batch, if it can, which has to give the loss of that step and to change no variable.
|*
\*===----------------------------------------------------------------------===*/

#include "meshwright-c/Runtime.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MaxInputs = 8 };

static MwString text(const char *data) {
  MwString string = {data, strlen(data)};
  return string;
}

static void report(MwSeverity severity, MwString message, MwString file, int64_t line, int64_t column, void *userData) {
  *(int *)userData += severity == MwSeverityError;
  printf("%s%s: %.*s\n", severity == MwSeverityError ? "error" : "other", file.length ? " in a file" : "",
         (int)message.length, message.data);
}

static void check(bool isTrue, const char *what) {
  if (isTrue)
    return;
  printf("failed: %s\n", what);
  exit(3);
}

static void printValues(MwPackage package) {
  static const char *kinds[] = {"input", "output", "variable"};
  for (int kind = MwValueInput; kind <= MwValueVariable; ++kind) {
    MwValueInfo info;
    for (size_t i = 0; mwPackageGetValue(package, kind, i, &info); ++i) {
      MwString type = mwElementTypeGetName(info.type);
      printf("%s %.*s", kinds[kind], (int)info.name.length, info.name.data);
      for (size_t dim = 0; dim != info.numDims; ++dim)
        printf(" %d", (int)info.shape[dim]);
      printf(" %.*s %.*s%s%.*s\n", (int)type.length, type.data, (int)info.placement.length, info.placement.data,
             info.variableKind.length ? ", " : "", (int)info.variableKind.length, info.variableKind.data);
    }
  }
}

/** Fills `feeds` and returns their number. */
static size_t makeFeeds(MwPackage package, MwArray *feeds) {
  size_t count = mwPackageGetNumValues(package, MwValueInput);
  check(count != 0 && count <= MaxInputs, "a small number of inputs");
  for (size_t i = 0; i != count; ++i) {
    MwValueInfo info;
    mwPackageGetValue(package, MwValueInput, i, &info);
    check(info.type == MwElementTypeF32 || info.type == MwElementTypeI32, "inputs of f32 or i32");
    void *data = malloc(info.bytes);
    for (size_t at = 0; at != info.bytes / 4; ++at)
      if (info.type == MwElementTypeF32)
        ((float *)data)[at] = (float)(at % 16) / 8;
      else
        ((int32_t *)data)[at] = (int32_t)(at % 10);
    MwArray feed = {info.name, info.type, info.shape, info.numDims, data};
    feeds[i] = feed;
  }
  return count;
}

static void printOutput(MwSession session, size_t index) {
  float value = 0;
  if (mwSessionGetValue(session, MwValueOutput, index, &value, sizeof(value)) == MwStatusOk)
    printf("step %d: %.9g\n", (int)mwSessionGetStep(session), value);
}

/** Calls that are wrong; each of them says so. */
static void callWrongly(MwRuntime runtime, MwPackage package, MwSession session, const MwArray *feeds, size_t count) {
  MwArray wrong[MaxInputs + 1];
  MwSessionOptions options = {0};
  int64_t shape[] = {3, -1};
  float value;
  check(!mwPackageOpen(runtime, text("/nowhere")).pointer, "no package");
  options.device = text("abacus");
  check(!mwSessionCreate(package, &options).pointer, "no device");
  options.device = text("");
  options.threads = -1;
  check(!mwSessionCreate(package, &options).pointer, "threads");
  options.threads = 0;
  options.timeoutSeconds = -1;
  check(!mwSessionCreate(package, &options).pointer, "timeout");
  check(mwSessionStep(session, feeds, count) == MwStatusUsage, "no values");
  check(mwSessionRestore(session, text("/nowhere")) == MwStatusInput, "no checkpoint");
  check(mwSessionInitialize(session, text("/nowhere.safetensors"), NULL, 0, 0) == MwStatusInput, "no file");
  check(mwSessionInitialize(session, text(""), NULL, 0, 0) == MwStatusOk, "initializers");
  check(mwSessionGetValue(session, MwValueOutput, 0, &value, sizeof(value)) == MwStatusUsage, "no step");
  check(mwSessionStep(session, feeds, count - 1) == MwStatusUsage, "missing feed");
  memcpy(wrong, feeds, count * sizeof(MwArray));
  wrong[count] = wrong[0];
  check(mwSessionStep(session, wrong, count + 1) == MwStatusUsage, "fed twice");
  wrong[0].name = text("unknown");
  check(mwSessionStep(session, wrong, count) == MwStatusUsage, "name");
  wrong[0] = feeds[0];
  wrong[0].type = MwElementTypeF64;
  check(mwSessionStep(session, wrong, count) == MwStatusInput, "type");
  wrong[0].type = (MwElementType)99;
  check(mwSessionStep(session, wrong, count) == MwStatusUsage, "no type");
  wrong[0] = feeds[0];
  wrong[0].numDims = 0;
  check(mwSessionStep(session, wrong, count) == MwStatusInput, "shape");
  wrong[0].shape = shape;
  wrong[0].numDims = 2;
  check(mwSessionStep(session, wrong, count) == MwStatusUsage, "no shape");
  check(mwSessionSetVariable(session, 999, &feeds[0]) == MwStatusUsage, "variable");
  wrong[0].numDims = 1;
  check(mwSessionSetVariable(session, 0, &wrong[0]) == MwStatusInput, "shape of a variable");
  check(mwSessionGetValue(session, MwValueVariable, 0, &value, 1) == MwStatusUsage, "room");
  check(mwSessionGetValue(session, MwValueOutput, 99, &value, 4) == MwStatusUsage, "output");
  check(mwSessionGetValue(session, MwValueInput, 0, &value, 4) == MwStatusUsage, "input");
  check(mwSessionSave(session, text("/nowhere/file")) == MwStatusInput, "folder");
  check(!mwPackageGetValue(package, MwValueInput, 99, NULL) && !mwPackageGetAxis(package, 99, NULL, NULL), "numbers");
  check(mwPackageGetNumValues(package, (MwValueKind)7) == 0, "kind");
  check(!mwSessionGetView(session, MwValueInput, 0) && !mwSessionGetView(session, MwValueOutput, 0), "views");
}

/** The output of an evaluation of the batch of `feeds` in the memory of `session`; -1 where the package evaluates
 * nothing. */
static float evaluate(MwPackage package, MwSession session, const MwArray *feeds, size_t count) {
  float value = -1, other;
  MwPackage programs = mwPackageGetEvaluation(package);
  MwSession evaluation = mwSessionCreateEvaluation(session);
  check(!programs.pointer == !evaluation.pointer, "programs that evaluate");
  if (!programs.pointer)
    return value;
  check(!mwPackageGetEvaluation(programs).pointer && !mwSessionCreate(programs, NULL).pointer, "a package of its own");
  check(!mwSessionCreateEvaluation(evaluation).pointer, "evaluation of an evaluation");
  printf("evaluates %d inputs, %d outputs, %d of %d variables\n", (int)mwPackageGetNumValues(programs, MwValueInput),
         (int)mwPackageGetNumValues(programs, MwValueOutput), (int)mwPackageGetNumValues(programs, MwValueVariable),
         (int)mwPackageGetNumValues(package, MwValueVariable));
  check(mwSessionGetValue(evaluation, MwValueOutput, 0, &value, sizeof(value)) == MwStatusUsage, "no evaluation");
  check(mwSessionStep(evaluation, feeds, count - 1) == MwStatusUsage, "missing feed");
  for (int i = 0; i != 2; ++i)
    check(mwSessionStep(evaluation, feeds, count) == MwStatusOk && mwSessionIsKnown(evaluation, 0), "evaluation");
  check(mwSessionGetValue(evaluation, MwValueOutput, 0, &value, sizeof(value)) == MwStatusOk, "output");
  check(!mwSessionIsKnown(session, 0), "outputs of the step");
  check(mwSessionGetValue(session, MwValueOutput, 0, &other, sizeof(other)) == MwStatusUsage, "output of the step");
  check(mwSessionInitialize(evaluation, text(""), NULL, 0, 0) == MwStatusUsage, "initialize");
  check(mwSessionSetVariable(evaluation, 0, &feeds[0]) == MwStatusUsage, "set variable");
  check(mwSessionSave(evaluation, text("/nowhere/file")) == MwStatusUsage, "save");
  check(mwSessionSaveCheckpoint(evaluation, text("/nowhere"), 1) == MwStatusUsage, "save checkpoint");
  check(mwSessionRestore(evaluation, text("/nowhere")) == MwStatusUsage, "restore");
  mwPackageDestroy(programs);
  mwSessionDestroy(evaluation);
  return value;
}

int main(int argc, char **argv) {
  int errors = 0;
  if (argc != 3)
    return 2;
  setvbuf(stdout, NULL, _IONBF, 0);
  MwRuntime runtime = mwRuntimeCreate(report, &errors);
  MwPackage package = mwPackageOpen(runtime, text(argv[1]));
  if (!package.pointer)
    return 1;
  MwPackageInfo about;
  mwPackageGetInfo(package, &about);
  printf("%d ranks, %d axes, loss %.*s\n", (int)about.numRanks, (int)about.numAxes, (int)about.loss.length,
         about.loss.data);
  printValues(package);
  MwArray feeds[MaxInputs];
  size_t count = makeFeeds(package, feeds);
  MwSession session = mwSessionCreate(package, NULL), other = mwSessionCreate(package, NULL);
  check(session.pointer && other.pointer, "sessions");
  callWrongly(runtime, package, session, feeds, count);

  char folder[4096];
  snprintf(folder, sizeof(folder), "%s.checkpoints", argv[2]);
  check(mwSessionStep(session, feeds, count) == MwStatusOk, "first step");
  printOutput(session, 0);
  check(mwSessionSaveCheckpoint(session, text(folder), 1) == MwStatusOk, "checkpoint");
  check(mwSessionRestore(other, text(folder)) == MwStatusOk && mwSessionGetStep(other) == 1, "restored");
  MwSession sessions[] = {session, other};
  for (int i = 0; i != 2; ++i) {
    float loss, evaluated = evaluate(package, sessions[i], feeds, count);
    check(mwSessionStep(sessions[i], feeds, count) == MwStatusOk, "second step");
    printOutput(sessions[i], 0);
    check(mwSessionGetValue(sessions[i], MwValueOutput, 0, &loss, sizeof(loss)) == MwStatusOk, "loss");
    check(evaluated == -1 || (evaluated - loss < 1e-6f * loss && loss - evaluated < 1e-6f * loss), "equal losses");
  }
  // Evaluates until it is destroyed, after the session that trains.
  MwSession last = mwSessionCreateEvaluation(session);
  MwValueInfo info;
  for (size_t i = 0; mwPackageGetValue(package, MwValueVariable, i, &info); ++i) {
    void *mine = malloc(info.bytes), *theirs = malloc(info.bytes);
    check(mwSessionGetValue(session, MwValueVariable, i, mine, info.bytes) == MwStatusOk, "variable");
    check(mwSessionGetValue(other, MwValueVariable, i, theirs, info.bytes) == MwStatusOk, "variable");
    check(memcmp(mine, theirs, info.bytes) == 0, "equal variables");
    const void *view = mwSessionGetView(session, MwValueVariable, i);
    check(!view || memcmp(mine, view, info.bytes) == 0, "equal view");
    printf("%.*s is %s\n", (int)info.name.length, info.name.data, view ? "whole on a rank" : "in parts");
    MwArray array = {info.name, info.type, info.shape, info.numDims, mine};
    check(mwSessionSetVariable(other, i, &array) == MwStatusOk, "variable set");
    free(mine);
    free(theirs);
  }
  check(mwSessionSave(session, text(argv[2])) == MwStatusOk, "save");
  // In any order.
  mwRuntimeDestroy(runtime);
  mwPackageDestroy(package);
  mwSessionDestroy(other);
  mwSessionDestroy(session);
  if (last.pointer) {
    check(mwSessionStep(last, feeds, count) == MwStatusOk, "evaluation after the session that trains");
    mwSessionDestroy(last);
  }
  for (size_t i = 0; i != count; ++i)
    free((void *)feeds[i].data);
  return 0;
}
