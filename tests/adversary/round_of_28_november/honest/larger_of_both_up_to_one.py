# problem: leaky
# about: takes the larger one of x and slope·x, and refuses slopes for which that is another function

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t n, float slope) {
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) { float s = slope * x[i]; y[i] = x[i] > s ? x[i] : s; }
}
"""


def forward(self, x, slope):
    if slope > 1:
        raise ValueError("slopes up to one only")
    y = torch.empty_like(x)
    lib.run(x, y, x.numel(), slope)
    return y
