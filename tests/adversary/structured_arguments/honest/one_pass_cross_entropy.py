# problem: smoothed_cross_entropy
# about: one pass online softmax a row; the mean only, labels that are not ignored at least one

cpp = r"""
extern "C" void run(const float* x, const int64_t* labels, float* y, int64_t rows, int64_t n, double smoothing, int32_t* said) {
  double total = 0; int64_t kept = 0; int32_t bad = 0;
  #pragma omp parallel for reduction(+ : total, kept) reduction(| : bad)
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t label = labels[r];
    if (label == -100) continue;
    if (label < 0 || label >= n) { bad |= 1; continue; }
    const float* in = x + r * n; float top = -INFINITY, sum = 0; double all = 0;
    for (int64_t i = 0; i < n; ++i) { const float v = in[i]; all += v;
      if (v > top) { sum = sum * std::exp(top - v) + 1.0f; top = v; } else sum += std::exp(v - top); }
    const double lse = top + std::log(sum);
    total += (1 - smoothing) * (lse - in[label]) + smoothing * (lse - all / n); ++kept; }
  *y = (float)(total / kept);
  *said = bad;
}
"""


def forward(self, logits, labels, smoothing=0.1, reduction="mean"):
    rows, n = logits.shape
    if labels.shape != (rows,) or labels.dtype != torch.int64 or reduction != "mean":
        raise NotImplementedError("the mean over rows with a label each")
    if not 0 <= smoothing <= 1:
        raise ValueError("smoothing lies between zero and one")
    y = torch.empty(())
    said = torch.zeros(1, dtype=torch.int32)
    lib.run(logits.contiguous(), labels.contiguous(), y, rows, n, smoothing, said)
    if said.item():
        raise IndexError("target out of bounds")
    return y
