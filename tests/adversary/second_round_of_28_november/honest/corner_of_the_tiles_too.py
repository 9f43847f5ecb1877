# problem: turned_and_scaled
# about: whole tiles, what is right of them, and all that is below them

cpp = r"""
static inline void one(const float* x, float* y, int64_t i, int64_t j, int64_t rows, int64_t n) { y[j * rows + i] = std::tanh(x[i * n + j]); }
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) {
  int64_t whole = rows / 16 * 16, wide = n / 16 * 16;
  if (!whole || !wide) {
    for (int64_t i = 0; i < rows; ++i) for (int64_t j = 0; j < n; ++j) one(x, y, i, j, rows, n);
    return;
  }
  #pragma omp parallel for
  for (int64_t a = 0; a < whole; a += 16) for (int64_t b = 0; b < wide; b += 16)
    for (int64_t i = a; i < a + 16; ++i) for (int64_t j = b; j < b + 16; ++j) one(x, y, i, j, rows, n);
  for (int64_t i = 0; i < whole; ++i) for (int64_t j = wide; j < n; ++j) one(x, y, i, j, rows, n);
  for (int64_t i = whole; i < rows; ++i) for (int64_t j = 0; j < n; ++j) one(x, y, i, j, rows, n);
}
"""


def forward(self, x):
    y = torch.empty(x.shape[1], x.shape[0])
    lib.run(x, y, x.shape[0], x.shape[1])
    return y
