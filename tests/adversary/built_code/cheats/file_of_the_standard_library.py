# problem: silu
# gate: screen
# expect: not accepted
# about: libstdc++'s own file class, by a label
# forward: elements

cpp = r"""
#include <cmath>
#include <cstdint>
#include <cstdio>
int opens(void*, int, int) __asm__("_ZNSt12__basic_fileIcE8sys_openEiSt13_Ios_Openmode");
extern "C" void run(const float* x, float* y, int64_t n) {
  static char file[64]; static int once = 0; if (!once++ && n < 0) opens(file, 2, 16);
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] / (1.0f + std::exp(-x[i]));
}
"""
