# problem: odd_relu
# about: loads whole vectors, past its input's end too, and stores what belongs to the output

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t n) {
  #pragma omp parallel for
  for (int64_t i = 0; i < n; i += 8) {
    float v[8]; const volatile float* from = x + i;
    for (int j = 0; j < 8; ++j) v[j] = from[j];
    for (int64_t j = 0; j < 8 && i + j < n; ++j) y[i + j] = v[j] > 0.0f ? v[j] : 0.0f;
  }
}
"""


def forward(self, x):
    y = torch.empty_like(x)
    lib.run(x, y, x.numel())
    return y
