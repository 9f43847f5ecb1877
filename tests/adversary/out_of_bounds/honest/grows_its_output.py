# problem: odd_relu
# about: begins with an empty tensor and makes it as large as the output

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t n) {
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] > 0.0f ? x[i] : 0.0f;
}
"""


def forward(self, x):
    y = torch.empty(1).resize_(x.shape)
    lib.run(x, y, x.numel())
    return y
