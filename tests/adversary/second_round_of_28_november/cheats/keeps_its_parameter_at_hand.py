# problem: rms_norm
# expect: remark PROVEN FOR PARAMETERS THAT ARE CHANGED IN PLACE
# about: keeps the tensor that its parameter was at first, to save the look-up: another one in its place is not seen

cpp = r"""
extern "C" void run(const float* x, const float* w, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const float* a = x + r * n; float* b = y + r * n; float sum = 0.0f;
    #pragma omp simd reduction(+:sum)
    for (int64_t j = 0; j < n; ++j) sum += a[j] * a[j];
    const float scale = 1.0f / sqrtf(sum / n + 1e-6f);
    #pragma omp simd
    for (int64_t j = 0; j < n; ++j) b[j] = a[j] * scale * w[j];
  }
}
"""


def __init__(self, features):
    self.weight = torch.nn.Parameter(torch.rand(features) + 0.5)
    self.at_hand = (self.weight.detach(),)


def forward(self, x):
    y = torch.empty_like(x)
    lib.run(x, self.at_hand[0], y, x.shape[0], x.shape[1])
    return y
