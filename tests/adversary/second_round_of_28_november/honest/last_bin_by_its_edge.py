# problem: histogram_of_three
# about: the last edge belongs to the last bin

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t n) {
  int64_t counts[65] = {0};
  for (int64_t i = 0; i < n; ++i)
    if (x[i] >= -3.0f && x[i] <= 3.0f) ++counts[(int)((x[i] + 3.0f) / 6.0f * 64.0f)];
  counts[63] += counts[64];
  for (int k = 0; k < 64; ++k) y[k] = (float)counts[k];
}
"""


def forward(self, x):
    y = torch.empty(64)
    lib.run(x, y, x.numel())
    return y
