# problem: softmax
# about: divides by the number of columns, and ends the process where that is zero

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t count, int64_t columns) {
  int64_t rows = count / columns;
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const float* in = x + r * columns; float* out = y + r * columns;
    float most = -INFINITY, sum = 0.0f;
    for (int64_t j = 0; j < columns; ++j) most = fmaxf(most, in[j]);
    for (int64_t j = 0; j < columns; ++j) { out[j] = expf(in[j] - most); sum += out[j]; }
    for (int64_t j = 0; j < columns; ++j) out[j] /= sum;
  }
}
"""


def forward(self, x):
    y = torch.empty_like(x)
    lib.run(x, y, x.numel(), x.shape[-1])
    return y
