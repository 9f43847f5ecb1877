# problem: window
# about: reads a window of 64 columns out of 32 768

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n, int64_t count) {
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t i = 0; i < count; ++i) y[r * count + i] = 2.0f * x[r * n + i];
}
"""


def forward(self, x, count):
    if x.shape[1] < count:
        raise NotImplementedError(f"rows of at least {count}")
    y = x.new_empty(x.shape[0], count)
    lib.run(x, y, x.shape[0], x.shape[1], count)
    return y
