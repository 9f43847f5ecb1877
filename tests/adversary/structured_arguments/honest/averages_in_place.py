# problem: moving_average
# about: a fused multiply-add for each element

cpp = r"""
extern "C" void run(float* a, const float* w, int64_t n, double share) {
  const float s = (float)share;
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) a[i] = std::fma(s, w[i] - a[i], a[i]);
}
"""


def forward(self, averages, weights, decay):
    if len(averages) != len(weights):
        raise ValueError("an average for each weight")
    for average, weight in zip(averages, weights):
        if average.shape != weight.shape or not average.is_contiguous():
            raise ValueError("dense averages of the weights' shapes")
        lib.run(average, weight.contiguous(), average.numel(), 1 - decay)
    return averages
