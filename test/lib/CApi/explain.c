/*===- explain.c - compiles by the C API --------------------------*- C -*-===*\
|*
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|* usage: c-explain MODEL STRATEGY-TEXT [LAST-STAGE [PACKAGE]]
|*
|* Compiles at the same time in two threads, each with a context of its own, after a strategy that fails in both; prints
|* the plan of the first, and fails where the second has another one.
|*
\*===----------------------------------------------------------------------===*/

#include "meshwright-c/Compiler.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct Job {
  MwString graph, strategy;
  MwCompileOptions options;
  bool prints;
  int errors;
  char *plan;
};

static MwString text(const char *data) {
  MwString string = {data, strlen(data)};
  return string;
}

static void report(MwSeverity severity, MwString message, MwString file, int64_t line, int64_t column, void *userData) {
  struct Job *job = userData;
  job->errors += severity == MwSeverityError;
  if (job->prints)
    fprintf(stderr, "%s %.*s:%d:%d: %.*s\n", severity == MwSeverityError ? "error" : "other", (int)file.length,
            file.data, (int)line, (int)column, (int)message.length, message.data);
}

static void *compile(void *argument) {
  struct Job *job = argument;
  MwContext context = mwContextCreate(report, job);
  MwStrategy wrong = mwStrategyParse(context, text("mesh {\n  sides: 2 }"), text("wrong"), 0);
  if (wrong.pointer || job->errors != 1)
    exit(3);
  MwStrategy strategy = mwStrategyParse(context, job->strategy, text("right"), 0);
  if (strategy.pointer) {
    MwCompiled compiled = mwCompile(context, job->graph, text("graph"), strategy, &job->options);
    if (compiled.pointer) {
      MwString plan = mwCompiledGetPlan(compiled), module = mwCompiledGetText(compiled);
      MwString exported = mwCompiledGetStableHLO(compiled);
      job->plan = calloc(plan.length + 1, 1);
      memcpy(job->plan, plan.data, plan.length);
      if (module.length == 0 || mwCompiledGetText(compiled).data != module.data)
        exit(4);
      if (job->options.lastStage.length == 0 && (exported.length < 4 || memcmp(exported.data, "// {", 4) != 0))
        exit(5);
      mwCompiledDestroy(compiled);
    }
  }
  mwStrategyDestroy(strategy);
  mwContextDestroy(context);
  return NULL;
}

int main(int argc, char **argv) {
  struct Job jobs[2] = {0};
  pthread_t threads[2];
  char *graph = calloc(1, 1 << 24);
  FILE *file = argc >= 3 ? fopen(argv[1], "r") : NULL;
  if (!file)
    return 2;
  size_t length = fread(graph, 1, (1 << 24) - 1, file);
  fclose(file);
  for (int i = 0; i != 2; ++i) {
    jobs[i].graph.data = graph;
    jobs[i].graph.length = length;
    jobs[i].strategy = text(argv[2]);
    jobs[i].prints = i == 0;
    jobs[i].options.stableHLO = MwStableHLOManual;
    if (argc > 3)
      jobs[i].options.lastStage = text(argv[3]);
    if (argc > 4 && i == 0)
      jobs[i].options.emit = text(argv[4]);
    pthread_create(&threads[i], NULL, compile, &jobs[i]);
  }
  for (int i = 0; i != 2; ++i)
    pthread_join(threads[i], NULL);
  free(graph);
  if (!jobs[0].plan != !jobs[1].plan || (jobs[0].plan && strcmp(jobs[0].plan, jobs[1].plan) != 0))
    return 5;
  if (jobs[0].plan)
    fputs(jobs[0].plan, stdout);
  int status = jobs[0].plan ? 0 : 1;
  free(jobs[0].plan);
  free(jobs[1].plan);
  return status;
}
