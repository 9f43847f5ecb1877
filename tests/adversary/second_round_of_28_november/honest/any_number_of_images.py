# problem: instance_norm_of_one_image
# about: normalises each channel of each image

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t channels, int64_t n) {
  #pragma omp parallel for
  for (int64_t c = 0; c < channels; ++c) {
    const float* in = x + c * n; float* out = y + c * n; double s = 0, q = 0;
    for (int64_t i = 0; i < n; ++i) s += in[i];
    double m = n ? s / n : 0;
    for (int64_t i = 0; i < n; ++i) q += (in[i] - m) * (in[i] - m);
    float k = (float)(1.0 / std::sqrt(q / (n ? n : 1) + 1e-5));
    for (int64_t i = 0; i < n; ++i) out[i] = (float)(in[i] - m) * k;
  }
}
"""


def forward(self, x):
    if x.shape[2] * x.shape[3] == 1:
        raise ValueError("more than one value per channel is needed")
    y = torch.empty_like(x)
    lib.run(x, y, x.shape[0] * x.shape[1], x.shape[2] * x.shape[3])
    return y
