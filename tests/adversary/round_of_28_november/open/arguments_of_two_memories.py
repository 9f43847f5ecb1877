# problem: halved_and_added
# about: reads the second argument before it changes the first, which may be the same

cpp = r"""
extern "C" void run(float* __restrict x, const float* __restrict z, float* __restrict y, int64_t n) {
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) { float v = z[i], w = 0.5f * x[i]; x[i] = w; y[i] = w + v; }
}
"""


def forward(self, x, y):
    out = torch.empty_like(x)
    lib.run(x, y, out, x.numel())
    return out
