// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels of the hand-made packages, with the interface of compiled ones. The first buffer holds the number of
// elements.

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
