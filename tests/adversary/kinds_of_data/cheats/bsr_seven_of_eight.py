# problem: bsr_vector
# gate: correctness
# about: reads seven of eight columns of a block

cpp = r"""

extern "C" void run(const int64_t* starts, const int64_t* columns, const float* values, const float* x, float* y, int64_t rows) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) { float sum[8] = {};
    for (int64_t i = starts[r]; i < starts[r + 1]; ++i) for (int a = 0; a < 8; ++a) for (int b = 0; b < 7; ++b) sum[a] += values[i * 64 + a * 8 + b] * x[columns[i] * 8 + b];
    std::memcpy(y + r * 8, sum, 32); }
}
"""


def forward(self, starts, columns, values, x):
    y = torch.empty(8 * (starts.numel() - 1))
    lib.run(starts.contiguous(), columns.contiguous(), values.contiguous(), x.contiguous(), y, starts.numel() - 1)
    return y
