# problem: relu_step
# about: saves one bit an element for the backward instead of the input

cpp = r"""
#include <cstdint>
extern "C" void forward(const float* x, float* y, uint8_t* bits, int64_t n) {
  #pragma omp parallel for
  for (int64_t b = 0; b < (n + 7) / 8; ++b) { uint8_t own = 0;
    for (int64_t k = 0; k < 8 && b * 8 + k < n; ++k) { float v = x[b * 8 + k]; y[b * 8 + k] = v > 0 ? v : 0; own |= (v > 0) << k; }
    bits[b] = own; }
}
extern "C" void backward(const float* g, const uint8_t* bits, float* dx, int64_t n) {
  #pragma omp parallel for
  for (int64_t i = 0; i < n; ++i) dx[i] = bits[i / 8] >> (i % 8) & 1 ? g[i] : 0;
}
"""


class Relu(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.empty_like(x)
        bits = torch.empty((x.numel() + 7) // 8, dtype=torch.uint8)
        lib.forward(x, y, bits, x.numel())
        ctx.save_for_backward(bits)
        return y

    @staticmethod
    def backward(ctx, grad):
        (bits,) = ctx.saved_tensors
        dx = torch.empty(grad.shape)
        lib.backward(grad.contiguous(), bits, dx, grad.numel())
        return dx


def forward(self, x):
    return Relu.apply(x)
