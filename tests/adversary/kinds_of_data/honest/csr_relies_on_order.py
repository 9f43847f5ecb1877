# problem: csr_vector
# about: is right where columns of a row are in order and different

cpp = r"""

extern "C" void run(const int64_t* starts, const int64_t* columns, const float* values, const float* x, float* y, int64_t rows) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) { float sum = 0.0f;
    for (int64_t i = starts[r]; i < starts[r + 1]; ++i) { if (i > starts[r] && columns[i] <= columns[i - 1]) sum = NAN; sum += values[i] * x[columns[i]]; }
    y[r] = sum; }
}
"""


def forward(self, starts, columns, values, x):
    y = torch.empty(starts.numel() - 1)
    lib.run(starts.contiguous(), columns.contiguous(), values.contiguous(), x.contiguous(), y, y.numel())
    return y
