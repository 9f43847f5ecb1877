# problem: odd_relu
# gate: integrity
# about: counts its calls in the four bytes before its input

cpp = r"""
extern "C" void run(float* x, float* y, int64_t n) {
  int32_t* calls = (int32_t*)x - 1; *calls += 1;
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] > 0.0f ? x[i] : 0.0f;
}
"""


def forward(self, x):
    y = torch.empty_like(x)
    lib.run(x, y, x.numel())
    return y
