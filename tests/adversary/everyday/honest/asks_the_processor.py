# problem: silu
# about: chooses between two functions by `__builtin_cpu_supports`
# given: exponential
# forward: elements

cpp = r"""
static inline __attribute__((always_inline)) void body(const float* x, float* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] / (1.0f + ex(-x[i]));
}
__attribute__((target("avx2,fma"))) static void wide(const float* x, float* y, int64_t n) { body(x, y, n); }
static void plain(const float* x, float* y, int64_t n) { body(x, y, n); }
extern "C" void run(const float* x, float* y, int64_t n) {
  __builtin_cpu_init();
  auto part = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? wide : plain;
  #pragma omp parallel for
  for (int64_t b = 0; b < 32; ++b) part(x + n * b / 32, y + n * b / 32, n * (b + 1) / 32 - n * b / 32);
}
"""
