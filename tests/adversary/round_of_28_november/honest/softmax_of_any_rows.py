# problem: softmax
# about: begins with the first element of a row, keeps the row in memory of its own, and raises for other ranks

cpp = r"""
extern "C" void run(const float* x, float* y, float* e, int64_t rows, int64_t columns) {
  for (int64_t r = 0; r < rows; ++r) {
    const float* in = x + r * columns; float* out = y + r * columns;
    float most = in[0], sum = 0.0f;
    for (int64_t j = 0; j < columns; ++j) most = fmaxf(most, in[j]);
    for (int64_t j = 0; j < columns; ++j) { e[j] = expf(in[j] - most); sum += e[j]; }
    for (int64_t j = 0; j < columns; ++j) out[j] = e[j] / sum;
  }
}
"""


def forward(self, x):
    rows, columns = x.shape
    y = torch.empty_like(x)
    lib.run(x, y, torch.empty(columns), rows, columns)
    return y
