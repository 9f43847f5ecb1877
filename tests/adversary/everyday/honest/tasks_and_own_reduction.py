# problem: row_sums
# about: tasks of OpenMP, a reduction that it declares itself, and a critical section
# given: exponential
# forward: row_sums

cpp = r"""

struct Sum { double value = 0; };
#pragma omp declare reduction(add : Sum : omp_out.value += omp_in.value)
static float row(const float* in, int64_t n) { Sum s;
  #pragma omp simd reduction(add : s)
  for (int64_t i = 0; i < n; ++i) s.value += in[i] / (1.0f + ex(-in[i]));
  return (float)s.value; }
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) {
  int64_t done = 0;
  #pragma omp parallel
  #pragma omp single
  for (int64_t b = 0; b < rows; b += 16) {
    #pragma omp task firstprivate(b)
    {
      for (int64_t r = b; r < b + 16 && r < rows; ++r) y[r] = row(x + r * n, n);
      #pragma omp critical
      ++done;
    }
  }
}
"""
