/*===- main.c - a linker for kernels ------------------------------*- C -*-===*\
|*
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===----------------------------------------------------------------------===*/

int mwLinkerMain(int argc, const char **argv);

int main(int argc, char **argv) {
  /* lld chooses its kind of linker by the name of the program. */
  argv[0] = "ld.lld";
  return mwLinkerMain(argc, (const char **)argv);
}
