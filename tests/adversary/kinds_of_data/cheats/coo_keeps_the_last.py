# problem: coo_library
# gate: correctness
# about: keeps the last product of a row

cpp = r"""

extern "C" void run(const int64_t* places, const float* values, const float* x, float* y, int64_t count, int64_t rows) {
  for (int64_t r = 0; r < rows; ++r) y[r] = 0.0f;
  for (int64_t i = 0; i < count; ++i) y[places[i]] = values[i] * x[places[count + i]];
}
"""


def forward(self, matrix, x):
    y = torch.empty(matrix.shape[0])
    lib.run(matrix.indices(), matrix.values(), x.contiguous(), y, matrix.values().numel(), y.numel())
    return y
