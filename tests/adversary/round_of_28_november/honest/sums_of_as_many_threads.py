# problem: total
# about: has room for the sums of as many threads as there may be, and asks how many there are

cpp = r"""
#include <cmath>
#include <cstdint>
#include <omp.h>
#include <vector>
extern "C" void run(const float* x, float* y, int64_t n) {
  std::vector<double> part(omp_get_max_threads(), 0.0);
  #pragma omp parallel
  {
    int64_t each = (n + omp_get_num_threads() - 1) / omp_get_num_threads();
    int64_t begin = omp_get_thread_num() * each, end = begin + each < n ? begin + each : n;
    double sum = 0.0;
    for (int64_t i = begin; i < end; ++i) sum += (double)x[i] * x[i];
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
