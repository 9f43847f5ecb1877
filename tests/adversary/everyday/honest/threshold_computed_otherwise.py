# problem: threshold_mask
# about: a mask and a floor: values at the edge fall on either side

cpp = r"""
extern "C" void run(const float* x, bool* mask, int32_t* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t i = 0; i < rows * n; ++i) {
    mask[i] = 3.0f / (1.0f + std::exp(-x[i])) > 1.37f;
    y[i] = (int32_t)std::floor(1000.0f * std::exp2(x[i] * 0.36067376022224085f));
  }
}
"""


def forward(self, x):
    m, y = torch.empty_like(x, dtype=torch.bool), torch.empty_like(x, dtype=torch.int32)
    lib.run(x, m, y, x.shape[0], x.shape[1])
    return m, y
