# problem: total
# about: has room for the sums of eight threads

cpp = r"""
#include <cmath>
#include <cstdint>
#include <omp.h>
extern "C" void run(const float* x, float* y, int64_t n) {
  double part[8] = {0};
  #pragma omp parallel
  {
    double sum = 0.0;
    #pragma omp for simd
    for (int64_t i = 0; i < n; ++i) sum += (double)x[i] * x[i];
    part[omp_get_thread_num()] = sum;
  }
  double all = 0.0; for (double one : part) all += one;
  *y = (float)all;
}
"""


def forward(self, x):
    y = torch.empty(())
    lib.run(x, y, x.numel())
    return y
