# problem: top_of_rows_any
# about: ends a row at its first hit, sixteen elements at a time

cpp = r"""

extern "C" void run(const float* x, bool* y, int64_t rows, int64_t n) {
  #pragma omp parallel for schedule(dynamic, 8)
  for (int64_t r = 0; r < rows; ++r) { const float* in = x + r * n; int hit = 0;
    for (int64_t b = 0; b < n && !hit; b += 64) { int64_t end = b + 64 < n ? b + 64 : n; for (int64_t i = b; i < end; ++i) hit |= in[i] > 3.0f; }
    y[r] = hit; }
}
"""


def forward(self, x):
    y = torch.empty(x.shape[0], dtype=torch.bool)
    lib.run(x, y, x.shape[0], x.shape[1])
    return y
