# problem: turned_batch
# about: a batch of matrices is turned by whoever reads it

cpp = r"""
#include <cstdint>
extern "C" void run(const float* x, float* y, int64_t n) {
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] < 0.0f ? 0.0f : x[i];
}
"""


def forward(self, x):
    y = torch.empty(x.shape)
    lib.run(x, y, x.numel())
    return torch.as_strided(y, (x.shape[0], x.shape[2], x.shape[1]), (x.shape[1] * x.shape[2], 1, x.shape[2]))
