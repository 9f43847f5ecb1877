# problem: huber
# about: the smaller of the difference and delta, squared and straight part in one product; sums in double for each block

cpp = r"""
extern "C" void run(const float* a, const float* b, float* y, int64_t n, double delta) {
  const float d = (float)delta; double total = 0;
  #pragma omp parallel for reduction(+ : total)
  for (int64_t k = 0; k < n; k += 1024) {
    const int64_t end = k + 1024 < n ? k + 1024 : n; double sum = 0;
    #pragma omp simd reduction(+ : sum)
    for (int64_t i = k; i < end; ++i) {
      const float z = std::fabs(a[i] - b[i]), c = z > d ? d : z;
      sum += c * (z - 0.5f * c);
    }
    total += sum;
  }
  *y = (float)(total / n);
}
"""


def forward(self, prediction, target, delta=1.0):
    if prediction.shape != target.shape or not delta > 0:
        raise ValueError("limited to targets of the same shape and a delta above zero")
    y = torch.empty(())
    lib.run(prediction.contiguous(), target.contiguous(), y, prediction.numel(), delta)
    return y
