# problem: softmax_of_logits
# about: an online softmax that leaves out blocks in which nothing is possible
# forward: rows

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const float* a = x + r * n; float* b = y + r * n;
    float top = -INFINITY, sum = 0.0f;
    for (int64_t j = 0; j < n; j += 64) {
      const int64_t e = j + 64 < n ? j + 64 : n; float most = top;
      for (int64_t k = j; k < e; ++k) most = a[k] > most ? a[k] : most;
      if (most == -INFINITY) continue;
      float part = 0.0f;
      for (int64_t k = j; k < e; ++k) part += expf(a[k] - most);
      sum = sum * expf(top - most) + part; top = most;
    }
    const float scale = 1.0f / sum;
    for (int64_t j = 0; j < n; ++j) b[j] = expf(a[j] - top) * scale;
  }
}
"""
