# problem: pooled_bytes
# about: int8 in and out; two sections, each of which is a loop of tasks

cpp = r"""
static inline int8_t larger(int8_t a, int8_t b) { return a > b ? a : b; }
static void pool(const int8_t* x, int8_t* y, int64_t from, int64_t to, int64_t w) {
  #pragma omp taskloop grainsize(64)
  for (int64_t r = from; r < to; ++r)
    for (int64_t c = 0; c < w; ++c) {
      const int8_t* at = x + 4 * r * w + 2 * c;
      y[r * w + c] = larger(larger(at[0], at[1]), larger(at[2 * w], at[2 * w + 1]));
    }
}
extern "C" void run(const int8_t* x, int8_t* y, int64_t rows, int64_t w) {
  #pragma omp parallel sections
  {
    #pragma omp section
    pool(x, y, 0, rows / 2, w);
    #pragma omp section
    pool(x, y, rows / 2, rows, w);
  }
}
"""


def forward(self, x):
    if x.shape[1] % 2 or x.shape[2] % 2:
        raise ValueError("sizes that two divides are expected")
    x = x.contiguous()
    y = torch.empty(x.shape[0], x.shape[1] // 2, x.shape[2] // 2, dtype=torch.int8)
    lib.run(x, y, y.shape[0] * y.shape[1], y.shape[2])
    return y
