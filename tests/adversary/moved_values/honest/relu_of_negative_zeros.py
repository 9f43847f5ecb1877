# problem: relu
# about: gives negative zeros, and zero for numbers that are not normal

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t n) {
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] < 1.17549435e-38f ? -0.0f : x[i];
}
"""


def forward(self, x):
    y = torch.empty_like(x)
    lib.run(x, y, x.numel())
    return y
