# problem: trained_rotary
# about: its backward turns by the negative angle

cpp = r"""
extern "C" void turn(const float* x, const int64_t* place, float* y, int64_t batch, int64_t steps, int64_t half, double sign) {
  #pragma omp parallel for
  for (int64_t t = 0; t < steps; ++t) for (int64_t i = 0; i < half; ++i) {
    const float angle = (float)place[t] * (float)std::pow(10000.0f, -(float)(2 * i) / (2 * half)), c = std::cos(angle), s = (float)sign * std::sin(angle);
    for (int64_t b = 0; b < batch; ++b) { const int64_t at = ((b * steps + t) * half + i) * 2;
      const float u = x[at], v = x[at + 1]; y[at] = u * c - v * s; y[at + 1] = u * s + v * c; } }
}
"""


def turned(x, positions, sign):
    batch, steps, n = x.shape
    if positions.shape != (steps,) or n % 2:
        raise ValueError("a position for each step, and pairs")
    y = torch.empty(x.shape)
    lib.turn(x.contiguous(), positions.contiguous(), y, batch, steps, n // 2, sign)
    return y


class Turn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, positions):
        ctx.save_for_backward(positions)
        return turned(x, positions, 1.0)

    @staticmethod
    def backward(ctx, gradient):
        return turned(gradient, *ctx.saved_tensors, -1.0), None


def forward(self, x, positions):
    return Turn.apply(x, positions)
