# problem: rope
# about: rotary embedding of two tensors; its backward turns the other way

cpp = r"""
#include <cstdint>

extern "C" void turn(const float* x, const float* c, const float* s, float* y, int64_t rows, int64_t steps, int64_t n,
                     int32_t back) {
  const int64_t half = n / 2;
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const float *a = x + r * n, *p = c + (r % steps) * n, *q = s + (r % steps) * n;
    float* out = y + r * n;
    #pragma omp simd
    for (int64_t i = 0; i < half; ++i) {
      const float u = a[i], v = a[i + half];
      if (back) {
        out[i] = u * p[i] + v * q[i + half];
        out[i + half] = v * p[i + half] - u * q[i];
      } else {
        out[i] = u * p[i] - v * q[i];
        out[i + half] = v * p[i + half] + u * q[i + half];
      }
    }
  }
}
"""


def turned(x, cos, sin, back):
    x, y = x.contiguous(), torch.empty(x.shape)
    n = x.shape[-1]
    if n % 2:
        raise ValueError("the last dimension has to be even")
    lib.turn(x, cos, sin, y, x.numel() // n if n else 0, cos.shape[0], n, back)
    return y


class Rope(torch.autograd.Function):
    @staticmethod
    def forward(q, k, cos, sin):
        return turned(q, cos, sin, False), turned(k, cos, sin, False)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs[2:])

    @staticmethod
    def backward(ctx, dq, dk):
        cos, sin = ctx.saved_tensors
        return turned(dq, cos, sin, True), turned(dk, cos, sin, True), None, None


def forward(self, q, k, cos, sin):
    return Rope.apply(q, k, cos.contiguous(), sin.contiguous())
