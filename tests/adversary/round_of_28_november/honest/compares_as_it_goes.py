# problem: step_and_flag
# about: takes the largest difference on the way

cpp = r"""
extern "C" void run(const float* x, const float* z, float* y, bool* near, int64_t n) {
  float most = 0.0f;
  #pragma omp parallel for simd reduction(max:most)
  for (int64_t i = 0; i < n; ++i) { y[i] = 0.5f * (x[i] + z[i]); float d = fabsf(x[i] - z[i]); most = d > most ? d : most; }
  *near = most < 1e-6f;
}
"""


def forward(self, x, y):
    out, near = torch.empty_like(x), torch.empty((), dtype=torch.bool)
    lib.run(x, y, out, near, x.numel())
    return out, near
