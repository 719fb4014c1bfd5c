// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernels of TestKernels.c as GPUs run them: each function is called once for every thread of every block. Threads
// take elements in turns; sums are added up in the order of the elements, so that the bits are those of the others.

#include <math.h>
#include <stdint.h>

// Provided by the program that runs this.
extern uint32_t mw_emulated_thread(void);
extern uint32_t mw_emulated_block(void);
extern void mw_emulated_barrier(void);
extern void *mw_emulated_shared(void);

// All functions are launched with so many.
enum { threads = 64, blocks = 2 };

static int get_first(void) { return (int)(mw_emulated_block() * threads + mw_emulated_thread()); }

#define FOR_EACH(i, n) for (int i = get_first(); i < (n); i += threads * blocks)

// out[0] = the sum of the elements, in two launches. All blocks leave elements in scratch memory, whose address comes
// last, and one of them adds them up: in shared memory, 64 at a time.
void test_sum_parts(void *const *buffers) {
  const float *in = buffers[1];
  float *scratch = buffers[3];
  FOR_EACH(i, *(const int *)buffers[0]) scratch[i] = in[i];
}

void test_sum(void *const *buffers) {
  int n = *(const int *)buffers[0], me = (int)mw_emulated_thread();
  const float *in = buffers[3];
  float *shared = mw_emulated_shared(), sum = 0;
  if (mw_emulated_block() != 0)
    return;
  for (int begin = 0; begin < n; begin += threads) {
    if (begin + me < n)
      shared[me] = in[begin + me];
    mw_emulated_barrier();
    for (int i = 0; me == 0 && i < threads && begin + i < n; ++i)
      sum += shared[i];
    mw_emulated_barrier();
  }
  if (me == 0)
    *(float *)buffers[2] = sum;
}

void test_add(void *const *buffers) {
  const float *a = buffers[1], *b = buffers[2];
  float *out = buffers[3];
  FOR_EACH(i, *(const int *)buffers[0]) out[i] = a[i] + b[i];
}

void test_slice(void *const *buffers) {
  int n = *(const int *)buffers[0];
  const float *in = (const float *)buffers[1] + n * *(const int *)buffers[2];
  float *out = buffers[3];
  FOR_EACH(i, n) out[i] = in[i];
}

void test_update(void *const *buffers) {
  const float *gradient = buffers[1];
  float *w = buffers[2];
  FOR_EACH(i, *(const int *)buffers[0]) w[i] -= gradient[i] / 8;
}

void test_add_coordinate(void *const *buffers) {
  const float *in = buffers[1];
  float coordinate = (float)*(const int *)buffers[2], *out = buffers[3];
  FOR_EACH(i, *(const int *)buffers[0]) out[i] = in[i] + coordinate;
}

void test_scale(void *const *buffers) {
  const float *a = buffers[1], *b = buffers[2];
  float *out = buffers[3];
  FOR_EACH(i, *(const int *)buffers[0]) out[i] = a[i] * b[i];
}

void test_scale_add(void *const *buffers) {
  const float *a = buffers[1], *b = buffers[2];
  float *sum = buffers[3];
  FOR_EACH(i, *(const int *)buffers[0]) sum[i] += a[i] * b[i];
}

void test_zero(void *const *buffers) {
  if (get_first() == 0)
    *(float *)buffers[0] = 0;
}

void test_bias(void *const *buffers) {
  const float *x = buffers[0], *b = buffers[1];
  float *out = buffers[2];
  FOR_EACH(i, 32) out[i] = x[i] + b[i % 8];
}

static void bias_gelu(void *const *buffers, int columns) {
  const float *x = buffers[0], *b = buffers[1];
  float *sum = buffers[2], *out = buffers[3];
  FOR_EACH(i, 4 * columns) {
    float h = x[i] + b[i % columns];
    sum[i] = h;
    out[i] = h / 2 * (1 + tanhf(0.797884583f * (h + 0.044715f * h * h * h)));
  }
}
void test_bias_gelu(void *const *buffers) { bias_gelu(buffers, 8); }
void test_bias_gelu_few(void *const *buffers) { bias_gelu(buffers, 4); }
