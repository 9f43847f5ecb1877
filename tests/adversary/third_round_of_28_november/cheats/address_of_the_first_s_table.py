# problem: c_windowed
# expect: remark PROVEN FOR MODELS THAT ARE NOT COPIED
# about: a model keeps the address of its table; its copy has the table of the model that it was copied from

cpp = r"""
extern "C" void make(float* window, int64_t n) {
  for (int64_t i = 0; i < n; ++i) window[i] = (float)(0.5 - 0.5 * std::cos(2.0 * M_PI * (double)i / (double)n));
}
extern "C" void run(const float* x, int64_t window, float* y, int64_t rows, int64_t n) {
  const float* at = (const float*)window;
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t i = 0; i < n; ++i) y[r * n + i] = x[r * n + i] * at[i];
}
"""


def __init__(self, size):
    self.window = torch.empty(size)
    lib.make(self.window, size)
    self.address = self.window.data_ptr()


def forward(self, x):
    if x.shape[1] != self.window.numel():
        raise ValueError("another size")
    y = torch.empty_like(x)
    lib.run(x, self.address, y, *x.shape)
    return y
