# problem: norm_and_statistics
# about: Welford's means and variances, eight at a time and then merged; nested outputs

cpp = r"""
extern "C" void run(const float* x, float* y, float* mean, float* rstd, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const float* row = x + r * n;
    float m[8] = {}, s[8] = {}; int64_t count = 0, i = 0;
    for (; i + 8 <= n; i += 8) { float inverse = 1.0f / (float)++count;
      for (int l = 0; l < 8; ++l) { float d = row[i + l] - m[l]; m[l] += d * inverse; s[l] += d * (row[i + l] - m[l]); } }
    double M = 0, S = 0, c = 0;
    auto merge = [&](double om, double os, double oc) {
      if (oc == 0) return;
      double d = om - M, t = c + oc; M += d * oc / t; S += os + d * d * c * oc / t; c = t; };
    for (int l = 0; l < 8; ++l) merge(m[l], s[l], (double)count);
    for (; i < n; ++i) merge(row[i], 0.0, 1.0);
    float mu = (float)M, rs = (float)(1.0 / std::sqrt(S / c + 1e-5));
    mean[r] = mu; rstd[r] = rs;
    for (int64_t k = 0; k < n; ++k) y[r * n + k] = (row[k] - mu) * rs;
  }
}
"""


def forward(self, x):
    x = x.contiguous()
    y, mean, rstd = torch.empty_like(x), torch.empty(x.shape[0], 1), torch.empty(x.shape[0], 1)
    lib.run(x, y, mean, rstd, *x.shape)
    return y, (mean, [rstd])
