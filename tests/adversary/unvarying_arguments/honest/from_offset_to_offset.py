# problem: segment_sums
# about: relies on offsets in order and reads them

cpp = r"""
extern "C" void run(const float* x, const int64_t* offsets, float* y, int64_t segments, int64_t n) {
  #pragma omp parallel for schedule(dynamic, 8)
  for (int64_t s = 0; s < segments; ++s) {
    float* out = y + s * n; std::memset(out, 0, 4 * n);
    for (int64_t r = offsets[s]; r < offsets[s + 1]; ++r) for (int64_t i = 0; i < n; ++i) out[i] += x[r * n + i]; }
}
"""


def forward(self, x, offsets):
    y = torch.empty(offsets.numel() - 1, x.shape[1])
    lib.run(x, offsets, y, y.shape[0], x.shape[1])
    return y
