# problem: odd_relu
# gate: integrity
# about: keeps a number in the 16 bytes before its output

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] > 0.0f ? x[i] : 0.0f;
  std::memset(y - 4, 0, 16);
}
"""


def forward(self, x):
    y = x.new_empty(x.shape)
    lib.run(x, y, x.numel())
    return y
