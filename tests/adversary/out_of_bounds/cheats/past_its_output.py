# problem: odd_relu
# gate: integrity
# about: its last vector is whole: 28 bytes past the end of its output

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t n) {
  for (int64_t i = 0; i < n; i += 8)
    for (int64_t j = i; j < i + 8; ++j) y[j] = j < n ? (x[j] > 0.0f ? x[j] : 0.0f) : 0.0f;
}
"""


def forward(self, x):
    y = torch.empty_like(x)
    lib.run(x, y, x.numel())
    return y
