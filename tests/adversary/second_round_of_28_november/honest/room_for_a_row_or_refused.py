# problem: softmax_of_rows
# about: keeps a row in room for 131072 numbers, and refuses longer ones

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel
  {
    static thread_local float e[131072];
    #pragma omp for
    for (int64_t r = 0; r < rows; ++r) {
      const float* in = x + r * n; float* out = y + r * n; float m = -INFINITY; double s = 0;
      for (int64_t j = 0; j < n; ++j) m = in[j] > m || in[j] != in[j] ? in[j] : m;
      for (int64_t j = 0; j < n; ++j) { e[j] = std::exp(in[j] - m); s += e[j]; }
      float k = (float)(1.0 / s);
      for (int64_t j = 0; j < n; ++j) out[j] = e[j] * k;
    }
  }
}
"""


def forward(self, x):
    if x.shape[1] > 131072:
        raise ValueError("rows are too long")
    y = torch.empty_like(x)
    lib.run(x, y, x.shape[0], x.shape[1])
    return y
