# problem: quantise_int8
# gate: correctness
# about: one step off for half of the values

cpp = r"""
extern "C" void run(const float* x, const float* scale, int8_t* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t i = 0; i < n; ++i) { float v = std::trunc(x[r * n + i] / scale[r]); y[r * n + i] = (int8_t)(v > 127 ? 127 : v < -127 ? -127 : v); }
}
"""


def forward(self, x, scale):
    y = torch.empty_like(x, dtype=torch.int8)
    lib.run(x, scale, y, x.shape[0], x.shape[1])
    return y
