# problem: energies_of_rows
# about: rows lie in kept scratch padded to eight, whose padding is cleared in each call

cpp = r"""
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>
static std::vector<float> kept;
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) {
  const int64_t wide = (n + 7) / 8 * 8;
  if ((int64_t)kept.size() < rows * wide + wide) kept.resize(rows * wide + wide);
  float* scratch = kept.data();
  float* use = scratch + rows * wide;
  for (int64_t i = 0; i < wide; ++i) use[i] = i < n ? 1.0f : 0.0f;
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    float* a = scratch + r * wide;
    memcpy(a, x + r * n, n * sizeof(float));
    for (int64_t i = n; i < wide; ++i) a[i] = 0.0f;
    float sum = 0;
    #pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < wide; ++i) sum += use[i] * (a[i] * tanhf(a[i]));
    y[r] = sum;
  }
}
"""


def forward(self, x):
    if x.dim() != 2:
        raise ValueError("rows are expected")
    y = torch.empty(x.shape[0])
    lib.run(x, y, *x.shape)
    return y
