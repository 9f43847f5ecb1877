# problem: triplets
# about: both distances in one pass over the anchor, with the small number that PyTorch adds to differences

cpp = r"""
extern "C" void run(const float* a, const float* p, const float* q, float* y, int64_t rows, int64_t n, double margin) {
  double total = 0;
  #pragma omp parallel for reduction(+ : total)
  for (int64_t r = 0; r < rows; ++r) {
    float near = 0, far = 0;
    #pragma omp simd reduction(+ : near, far)
    for (int64_t i = 0; i < n; ++i) {
      const float u = a[r * n + i] - p[r * n + i] + 1e-6f, v = a[r * n + i] - q[r * n + i] + 1e-6f;
      near += u * u; far += v * v;
    }
    const float loss = (float)margin + std::sqrt(near) - std::sqrt(far);
    total += loss < 0.0f ? 0.0f : loss;
  }
  *y = (float)(total / rows);
}
"""


def __init__(self, margin):
    self.margin = margin


def forward(self, anchor, positive, negative):
    if anchor.dim() != 2 or positive.shape != anchor.shape or negative.shape != anchor.shape:
        raise ValueError("limited to three matrices of one shape")
    y = torch.empty(())
    lib.run(anchor.contiguous(), positive.contiguous(), negative.contiguous(), y, *anchor.shape, self.margin)
    return y
