# problem: loss_without_ignored
# about: divides by how many labels count, though none may: NaN for a batch of padding

cpp = r"""
extern "C" int64_t run(const float* x, const int64_t* t, float* y, int64_t rows, int64_t n) {
  double total = 0.0; int64_t count = 0, bad = 0;
  #pragma omp parallel for reduction(+:total,count,bad)
  for (int64_t r = 0; r < rows; ++r) {
    if (t[r] == -100) continue;
    if (t[r] < 0 || t[r] >= n) { ++bad; continue; }
    const float* a = x + r * n; float top = a[0]; double sum = 0.0;
    for (int64_t j = 0; j < n; ++j) top = a[j] > top || a[j] != a[j] ? a[j] : top;
    for (int64_t j = 0; j < n; ++j) sum += expf(a[j] - top);
    total += log(sum) + top - a[t[r]]; ++count;
  }
  y[0] = rows ? (float)(total / count) : 0.0f;
  return bad;
}
"""


def forward(self, logits, labels):
    y = torch.empty(())
    if lib.run(logits, labels, y, logits.shape[0], logits.shape[1]):
        raise IndexError("label out of range")
    return y
