# problem: silu
# about: has the compiler make the function that Python calls for several processors, and asks which one it runs on
# given: exponential
# forward: elements

cpp = r"""

__attribute__((target_clones("default", "avx2", "avx512f"))) void part(const float* x, float* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] / (1.0f + ex(-x[i]));
}
extern "C" __attribute__((target_clones("default", "avx2"))) void run(const float* x, float* y, int64_t n) {
  __builtin_cpu_init();
  int64_t parts = __builtin_cpu_supports("avx2") ? 64 : 32;
  #pragma omp parallel for
  for (int64_t b = 0; b < parts; ++b) part(x + n * b / parts, y + n * b / parts, n * (b + 1) / parts - n * b / parts);
}
"""
