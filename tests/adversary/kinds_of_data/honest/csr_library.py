# problem: csr_library
# about: reads the parts of a sparse tensor

cpp = r"""

extern "C" void run(const int64_t* starts, const int64_t* columns, const float* values, const float* x, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) { float* out = y + r * n; for (int64_t j = 0; j < n; ++j) out[j] = 0.0f;
    for (int64_t i = starts[r]; i < starts[r + 1]; ++i) for (int64_t j = 0; j < n; ++j) out[j] += values[i] * x[columns[i] * n + j]; }
}
"""


def forward(self, matrix, x):
    y = torch.empty(matrix.shape[0], x.shape[1])
    lib.run(
        matrix.crow_indices(), matrix.col_indices(), matrix.values(), x.contiguous(), y, y.shape[0], y.shape[1]
    )
    return y
