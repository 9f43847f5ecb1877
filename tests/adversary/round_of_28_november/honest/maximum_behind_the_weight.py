# problem: affine_then_maximum
# about: scales, shifts and takes the maximum, by one fused instruction for each number

cpp = r"""
extern "C" void run(const float* x, const float* w, const float* b, float* y, int64_t batch, int64_t channels, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < batch * channels; ++r) {
    float most = -INFINITY, by = w[r % channels], plus = b[r % channels]; const float* in = x + r * n;
    #pragma omp simd reduction(max:most)
    for (int64_t j = 0; j < n; ++j) { float v = in[j] * by + plus; most = most > v ? most : v; }
    y[r] = most;
  }
}
"""


def __init__(self, channels):
    self.weight = torch.nn.Parameter(torch.ones(channels))
    self.bias = torch.nn.Parameter(torch.zeros(channels))


def forward(self, x):
    y = torch.empty(x.shape[:2])
    lib.run(x, self.weight, self.bias, y, *x.shape)
    return y
