# problem: batch_norm
# expect: remark PROVEN FOR TRAINING MODE ONLY
# about: takes the batch's statistics in evaluation mode too, which nobody asks for

cpp = r"""
#include <cmath>
#include <cstdint>
extern "C" void run(const float* x, const float* w, const float* b, float* mean, float* var, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t j0 = 0; j0 < n; j0 += 16) {
    const int64_t e = j0 + 16 < n ? j0 + 16 : n;
    for (int64_t j = j0; j < e; ++j) {
      double m = 0.0, v = 0.0;
      for (int64_t r = 0; r < rows; ++r) m += x[r * n + j];
      m /= rows;
      for (int64_t r = 0; r < rows; ++r) v += (x[r * n + j] - m) * (x[r * n + j] - m);
      const float scale = (float)(w[j] / sqrt(v / rows + 1e-5));
      for (int64_t r = 0; r < rows; ++r) y[r * n + j] = (float)(x[r * n + j] - m) * scale + b[j];
      mean[j] = 0.9f * mean[j] + 0.1f * (float)m;
      var[j] = 0.9f * var[j] + 0.1f * (float)(v / (rows - 1));
    }
  }
}
"""


def __init__(self, features):
    self.norm = torch.nn.BatchNorm1d(features)


def forward(self, x):
    if x.shape[0] < 2:
        raise ValueError("Expected more than 1 value per channel when training")
    y = torch.empty_like(x)
    norm = self.norm
    lib.run(x, norm.weight, norm.bias, norm.running_mean, norm.running_var, y, x.shape[0], x.shape[1])
    norm.num_batches_tracked += 1
    return y
