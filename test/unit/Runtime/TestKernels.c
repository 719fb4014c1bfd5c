// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels of the hand-made packages, with the interface of compiled ones. The first buffer holds the number of
// elements.

#define _POSIX_C_SOURCE 199309L
#include <math.h>
#include <stdint.h>
#include <time.h>

// out[0] = the sum of the elements.
void test_sum(void *const *buffers) {
  int n = *(const int *)buffers[0];
  const float *in = buffers[1];
  float sum = 0;
  for (int i = 0; i < n; ++i)
    sum += in[i];
  *(float *)buffers[2] = sum;
}

// out = a + b.
void test_add(void *const *buffers) {
  int n = *(const int *)buffers[0];
  const float *a = buffers[1], *b = buffers[2];
  float *out = buffers[3];
  for (int i = 0; i < n; ++i)
    out[i] = a[i] + b[i];
}

// out = a + b, of two elements: the number of the buffers, and of each its bytes, access and memory, as compiled kernels
// give them.
static const uint64_t test_add_pairs_buffers[] = {3, 8, 1, 0, 8, 1, 1, 8, 2, 2};
void test_add_pairs(void *const *buffers) {
  const float *a = buffers[0], *b = buffers[1];
  float *out = buffers[2];
  for (int i = 0; i < 2; ++i)
    out[i] = a[i] + b[i];
}

// a += b, of two elements; the result is where a is.
static const uint64_t test_add_in_place_buffers[] = {3, 8, 3, 0, 8, 1, 1, 8, 3, 0};
void test_add_in_place(void *const *buffers) {
  float *a = buffers[0];
  const float *b = buffers[1];
  for (int i = 0; i < 2; ++i)
    a[i] += b[i];
}

// out = the slice of n elements that the micro-batch takes.
void test_slice(void *const *buffers) {
  int n = *(const int *)buffers[0];
  const float *in = (const float *)buffers[1] + n * *(const int *)buffers[2];
  float *out = buffers[3];
  for (int i = 0; i < n; ++i)
    out[i] = in[i];
}

// w -= g / 8.
void test_update(void *const *buffers) {
  int n = *(const int *)buffers[0];
  const float *gradient = buffers[1];
  float *w = buffers[2];
  for (int i = 0; i < n; ++i)
    w[i] -= gradient[i] / 8;
}

// out = in + the coordinate, which no serial program would do.
void test_add_coordinate(void *const *buffers) {
  int n = *(const int *)buffers[0];
  const float *in = buffers[1];
  int coordinate = *(const int *)buffers[2];
  float *out = buffers[3];
  for (int i = 0; i < n; ++i)
    out[i] = in[i] + (float)coordinate;
}

// out = a · b, element by element.
void test_scale(void *const *buffers) {
  int n = *(const int *)buffers[0];
  const float *a = buffers[1], *b = buffers[2];
  float *out = buffers[3];
  for (int i = 0; i < n; ++i)
    out[i] = a[i] * b[i];
}

// sum += a · b, element by element.
void test_scale_add(void *const *buffers) {
  int n = *(const int *)buffers[0];
  const float *a = buffers[1], *b = buffers[2];
  float *sum = buffers[3];
  for (int i = 0; i < n; ++i)
    sum[i] += a[i] * b[i];
}

static double get_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// Of an executable that has a VirtualTime: sleeps by it, or returns -1.
int mw_virtual_sleep(int milliseconds) __attribute__((weak));

// Sleeps so many milliseconds, and adds to `busy` the seconds that it took.
void test_sleep(void *const *buffers) {
  int milliseconds = *(const int *)buffers[0];
  float *busy = buffers[1];
  int slept = mw_virtual_sleep ? mw_virtual_sleep(milliseconds) : -1;
  if (slept >= 0) {
    *busy += (float)slept / 1000;
    return;
  }
  double begin = get_seconds();
  struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000L};
  nanosleep(&time, 0);
  *busy += (float)(get_seconds() - begin);
}

// out[0] = 0.
void test_zero(void *const *buffers) { *(float *)buffers[0] = 0; }

// out = x + b, for every row of 8.
void test_bias(void *const *buffers) {
  const float *x = buffers[0], *b = buffers[1];
  float *out = buffers[2];
  for (int i = 0; i < 32; ++i)
    out[i] = x[i] + b[i % 8];
}

// h = x + b for every row of so many, and its GELU.
static void bias_gelu(void *const *buffers, int columns) {
  const float *x = buffers[0], *b = buffers[1];
  float *sum = buffers[2], *out = buffers[3];
  for (int i = 0; i < 4 * columns; ++i) {
    float h = x[i] + b[i % columns];
    sum[i] = h;
    out[i] = h / 2 * (1 + tanhf(0.797884583f * (h + 0.044715f * h * h * h)));
  }
}
void test_bias_gelu(void *const *buffers) { bias_gelu(buffers, 8); }
void test_bias_gelu_few(void *const *buffers) { bias_gelu(buffers, 4); }

// What is no kernel though it has a name that can be looked up.
const uint64_t test_numbers[] = {1, 2, 3};

// The table of the kernels, as in meshwright/runtime/KernelTable.h.
struct entry {
  const char *symbol;
  void (*function)(void *const *buffers);
  const uint64_t *num_buffers, *buffers;
  const void *division;
};
#define KERNEL(name) {#name, name, 0, 0, 0}
#define KERNEL_WITH_BUFFERS(name) {#name, name, name##_buffers, name##_buffers + 1, 0}
static const struct entry entries[] = {
    KERNEL(test_sum), KERNEL(test_add), KERNEL_WITH_BUFFERS(test_add_pairs), KERNEL_WITH_BUFFERS(test_add_in_place),
    KERNEL(test_slice), KERNEL(test_update), KERNEL(test_add_coordinate), KERNEL(test_scale), KERNEL(test_scale_add),
    KERNEL(test_sleep), KERNEL(test_zero), KERNEL(test_bias), KERNEL(test_bias_gelu), KERNEL(test_bias_gelu_few),
};
const struct {
  uint64_t count;
  const struct entry *entries;
} meshwright_kernel_table = {sizeof(entries) / sizeof(*entries), entries};
