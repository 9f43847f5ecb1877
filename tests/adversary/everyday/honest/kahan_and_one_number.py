# problem: mean_square
# about: a compensated sum in float; a number without dimensions; a text and None as arguments

cpp = r"""
#include <cstdint>
extern "C" void run(const float* x, const float* y, const float* w, float* out, int64_t n, int32_t mean) {
  float parts[64];
  #pragma omp parallel for
  for (int64_t p = 0; p < 64; ++p) { float s = 0, c = 0;
    for (int64_t i = n * p / 64; i < n * (p + 1) / 64; ++i) {
      float e = (x[i] - y[i]) * (x[i] - y[i]); if (w) e *= w[i];
      float t = e - c, u = s + t; c = (u - s) - t; s = u; }
    parts[p] = s; }
  double total = 0;
  for (float one : parts) total += one;
  *out = (float)(mean ? total / (double)n : total);
}
"""


def forward(self, x, y, reduction, weight):
    if x.shape != y.shape or reduction not in ("mean", "sum"):
        raise ValueError("two tensors of one shape, and 'mean' or 'sum', are expected")
    if weight is not None:
        weight = weight.expand(x.shape).contiguous()
    x, y = x.contiguous(), y.contiguous()
    out = torch.empty(())
    lib.run(x, y, 0 if weight is None else weight.data_ptr(), out.data_ptr(), x.numel(), int(reduction == "mean"))
    return out
