# problem: channel_affine
# about: scale and shift of each channel from four vectors; channels_last in, channels_last out

cpp = r"""
extern "C" void run(const float* x, const float* m, const float* v, const float* w, const float* b, float* y, int64_t pixels, int64_t c) {
  float scale[4096], shift[4096];
  for (int64_t k = 0; k < c; ++k) { scale[k] = w[k] / std::sqrt(v[k] + 1e-5f); shift[k] = b[k] - m[k] * scale[k]; }
  #pragma omp parallel for
  for (int64_t p = 0; p < pixels; ++p)
    for (int64_t k = 0; k < c; ++k) y[p * c + k] = std::fmax(x[p * c + k] * scale[k] + shift[k], 0.0f);
}
"""


def __init__(self, channels):
    self.norm = torch.nn.BatchNorm2d(channels).eval()


def forward(self, x):
    if x.shape[1] > 4096:
        raise ValueError("at most 4096 channels")
    x = x.contiguous(memory_format=torch.channels_last)
    y = torch.empty_like(x)
    one = self.norm
    lib.run(x.data_ptr(), one.running_mean, one.running_var, one.weight.detach(), one.bias.detach(), y.data_ptr(),
            x.shape[0] * x.shape[2] * x.shape[3], x.shape[1])
    return y
