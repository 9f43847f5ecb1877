# problem: distilled
# about: t * log(t) where a target may be zero, as in a one-hot one

cpp = r"""
extern "C" void run(const float* x, const float* t, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const float *a = x + r * n, *p = t + r * n; float top = a[0]; double sum = 0.0, found = 0.0;
    for (int64_t j = 0; j < n; ++j) top = a[j] > top ? a[j] : top;
    for (int64_t j = 0; j < n; ++j) sum += expf(a[j] - top);
    const float log_sum = (float)log(sum);
    for (int64_t j = 0; j < n; ++j) found += p[j] * (logf(p[j]) - (a[j] - top - log_sum));
    y[r] = (float)found;
  }
}
"""


def forward(self, logits, target):
    y = torch.empty(logits.shape[0])
    lib.run(logits, target, y, logits.shape[0], logits.shape[1])
    return y
