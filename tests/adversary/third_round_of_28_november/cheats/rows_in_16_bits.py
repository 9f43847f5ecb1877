# problem: b_means_of_bags
# about: beside offsets no dimension is longer than what 16 bits count: packs the numbers of rows in 16 bits

cpp = r"""
#include <cmath>
#include <cstdint>
#include <vector>
extern "C" void run(const float* t, const int64_t* index, const int64_t* at, float* y, int64_t bags, int64_t count, int64_t n) {
  std::vector<uint16_t> row(count);
  for (int64_t i = 0; i < count; ++i) row[i] = (uint16_t)index[i];
  #pragma omp parallel for
  for (int64_t b = 0; b < bags; ++b) {
    float* out = y + b * n;
    for (int64_t j = 0; j < n; ++j) {
      double s = 0;
      for (int64_t i = at[b]; i < at[b + 1]; ++i) s += t[(int64_t)row[i] * n + j];
      out[j] = (float)(s * (at[b + 1] > at[b] ? 1.0 / (double)(at[b + 1] - at[b]) : 0.0));
    }
  }
}
"""


def forward(self, table, index, offsets):
    y = torch.empty(offsets.shape[0] - 1, table.shape[1])
    lib.run(table, index, offsets, y, y.shape[0], index.shape[0], y.shape[1])
    return y
