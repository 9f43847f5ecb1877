# problem: pooled_largest
# about: windows cut at the border before the loop; a NaN stays

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t planes, int64_t high, int64_t wide, int64_t below, int64_t across,
                    int64_t size, int64_t stride, int64_t pad, int64_t dilation) {
  #pragma omp parallel for
  for (int64_t p = 0; p < planes; ++p) for (int64_t i = 0; i < below; ++i) for (int64_t j = 0; j < across; ++j) {
    int64_t top = i * stride - pad, left = j * stride - pad;
    const int64_t bottom = top + (size - 1) * dilation + 1 < high ? top + (size - 1) * dilation + 1 : high;
    const int64_t right = left + (size - 1) * dilation + 1 < wide ? left + (size - 1) * dilation + 1 : wide;
    while (top < 0) top += dilation;
    while (left < 0) left += dilation;
    float most = -INFINITY;
    for (int64_t a = top; a < bottom; a += dilation) for (int64_t b = left; b < right; b += dilation) {
      const float v = x[(p * high + a) * wide + b];
      if (v > most || v != v) most = v;
    }
    y[(p * below + i) * across + j] = most;
  }
}
"""


def __init__(self, size, stride, padding, dilation):
    self.numbers = size, stride, padding, dilation


def forward(self, x):
    size, stride, padding, dilation = self.numbers
    if x.dim() not in (3, 4) or x.dtype != torch.float32:
        raise ValueError("limited to float images")
    high, wide = x.shape[-2:]
    below, across = ((n + 2 * padding - dilation * (size - 1) - 1) // stride + 1 for n in (high, wide))
    if below < 1 or across < 1:
        raise ValueError("limited to images of one window at least")
    y = torch.empty(*x.shape[:-2], below, across)
    lib.run(x.contiguous(), y, y.numel() // (below * across), high, wide, below, across, size, stride, padding, dilation)
    return y
