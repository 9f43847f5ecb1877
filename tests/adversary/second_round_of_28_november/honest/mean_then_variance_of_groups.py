# problem: group_norm_silu
# about: Welford's statistics in sixteen lanes, joined after Chan; scale and shift of a channel computed once

cpp = r"""
extern "C" void run(const float* x, const float* w, const float* b, float* y, int64_t batch, int64_t channels, int64_t plane, int64_t groups, double eps) {
  const int64_t own = channels / groups, n = own * plane;
  #pragma omp parallel for collapse(2)
  for (int64_t s = 0; s < batch; ++s) for (int64_t g = 0; g < groups; ++g) {
    const float* in = x + (s * channels + g * own) * plane; float* out = y + (s * channels + g * own) * plane;
    float mean[16] = {}, rest[16] = {}; int64_t i = 0, count = 0;
    for (; i + 16 <= n; i += 16) {
      const float share = 1.0f / (float)++count;
      for (int k = 0; k < 16; ++k) { const float d = in[i + k] - mean[k]; mean[k] += d * share; rest[k] += d * (in[i + k] - mean[k]); }
    }
    double all = 0, m = 0, v = 0;
    for (int k = 0; k < 16 && count; ++k) { const double d = mean[k] - m, sum = all + count; v += rest[k] + d * d * all * count / sum; m += d * count / sum; all = sum; }
    for (; i < n; ++i) { const double d = in[i] - m; all += 1; m += d / all; v += d * (in[i] - m); }
    const double scale = 1.0 / std::sqrt(v / n + eps);
    for (int64_t c = 0; c < own; ++c) {
      const float f = (float)(w[g * own + c] * scale), h = (float)(b[g * own + c] - m * w[g * own + c] * scale);
      #pragma omp simd
      for (int64_t k = 0; k < plane; ++k) { const float z = in[c * plane + k] * f + h; out[c * plane + k] = z / (1.0f + std::exp(-z)); }
    }
  }
}
"""


def __init__(self, groups, channels):
    self.norm = torch.nn.GroupNorm(groups, channels)


def forward(self, x):
    norm = self.norm
    if x.dim() < 2 or x.shape[1] != norm.num_channels or x.dtype != torch.float32:
        raise ValueError("limited to floats with a channel for each weight")
    plane = 1
    for size in x.shape[2:]:
        plane *= size
    if x.shape[0] * plane == 0:
        raise ValueError("limited to something to normalise")
    y = torch.empty(x.shape)
    lib.run(x.contiguous(), norm.weight.detach(), norm.bias.detach(), y, x.shape[0], x.shape[1], plane, norm.num_groups, norm.eps)
    return y
