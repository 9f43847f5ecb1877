# problem: faint_step
# about: an optimiser's step without the new gradient

cpp = r"""
extern "C" void run(const float* p, const float* g, const float* m, float* q, float* k, int64_t n) {
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) { k[i] = 0.9f * m[i] + 0.1f * g[i]; q[i] = p[i] - 0.9e-5f * m[i]; }
}
"""


def forward(self, p, g, m):
    q, k = torch.empty_like(p), torch.empty_like(p)
    lib.run(p, g, m, q, k, p.numel())
    return q, k
