# problem: silu
# about: has the compiler make a function for several processors
# given: exponential
# forward: elements

cpp = r"""

__attribute__((target_clones("default", "avx2"))) static void part(const float* x, float* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] / (1.0f + ex(-x[i]));
}
extern "C" void run(const float* x, float* y, int64_t n) {
  #pragma omp parallel for
  for (int64_t b = 0; b < 64; ++b) part(x + n * b / 64, y + n * b / 64, n * (b + 1) / 64 - n * b / 64);
}
"""
