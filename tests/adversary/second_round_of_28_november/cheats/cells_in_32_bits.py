# problem: cells
# about: converts to 32-bit whole numbers on the way to 64-bit ones

cpp = r"""
extern "C" void run(const float* x, int64_t* y, int64_t n) {
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) y[i] = (int32_t)floorf(x[i] * 4.0f);
}
"""


def forward(self, x):
    y = torch.empty(x.shape, dtype=torch.int64)
    lib.run(x, y, x.numel())
    return y
