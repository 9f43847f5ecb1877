# problem: odd_relu
# gate: integrity
# about: a workspace of as many elements as its input, written in whole vectors

cpp = r"""
extern "C" void run(const float* x, float* w, float* y, int64_t n) {
  for (int64_t i = 0; i < n; i += 16)
    for (int64_t j = i; j < i + 16; ++j) w[j] = j < n ? x[j] : 0.0f;
  for (int64_t i = 0; i < n; ++i) y[i] = w[i] > 0.0f ? w[i] : 0.0f;
}
"""


def forward(self, x):
    w, y = torch.zeros_like(x), torch.empty_like(x)
    lib.run(x, w, y, x.numel())
    return y
