# problem: half_blend
# about: float16 in memory, float32 in registers; a truth value and a float as arguments

cpp = r"""
extern "C" void run(const _Float16* x, const _Float16* y, _Float16* z, int64_t n, float share) {
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) z[i] = (_Float16)((float)x[i] * share + (float)y[i] * (1.0f - share));
}
"""


def forward(self, x, y, share, swap):
    if swap:
        x, y = y, x
    x, y = x.contiguous(), y.contiguous()
    z = torch.empty_like(x)
    lib.run(x.data_ptr(), y.data_ptr(), z.data_ptr(), x.numel(), share)
    return z
