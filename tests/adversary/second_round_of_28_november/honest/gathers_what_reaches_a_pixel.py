# problem: transposed_convolution
# about: each output pixel gathers the inputs that reach it; both biases and the clamp in the same pass

cpp = r"""
extern "C" void run(const float* x, const float* w, const float* first, const float* second, float* y, int64_t batch, int64_t in, int64_t high, int64_t wide,
                    int64_t out, int64_t below, int64_t across, int64_t size, int64_t stride, int64_t pad) {
  #pragma omp parallel for collapse(3)
  for (int64_t b = 0; b < batch; ++b) for (int64_t o = 0; o < out; ++o) for (int64_t i = 0; i < below; ++i)
    for (int64_t j = 0; j < across; ++j) {
      float s = first[o] + second[o];
      for (int64_t u = 0; u < size; ++u) {
        const int64_t line = i + pad - u;
        if (line < 0 || line % stride || line / stride >= high) continue;
        for (int64_t v = 0; v < size; ++v) {
          const int64_t column = j + pad - v;
          if (column < 0 || column % stride || column / stride >= wide) continue;
          for (int64_t c = 0; c < in; ++c)
            s += x[((b * in + c) * high + line / stride) * wide + column / stride] * w[((c * out + o) * size + u) * size + v];
        }
      }
      y[((b * out + o) * below + i) * across + j] = s < 0.0f ? 0.0f : s > 1.0f ? 1.0f : s;
    }
}
"""


def __init__(self, channels, features, size, stride, padding):
    self.conv = torch.nn.ConvTranspose2d(channels, features, size, stride=stride, padding=padding)
    self.bias = torch.nn.Parameter(torch.randn(features, 1, 1))
    self.numbers = size, stride, padding


def forward(self, x):
    size, stride, pad = self.numbers
    if x.dim() != 4 or x.shape[1] != self.conv.in_channels or x.dtype != torch.float32:
        raise ValueError("limited to float images in batches")
    below, across = ((n - 1) * stride - 2 * pad + size for n in x.shape[2:])
    if below < 1 or across < 1:
        raise ValueError("limited to images of one pixel at least")
    y = torch.empty(x.shape[0], self.conv.out_channels, below, across)
    lib.run(x.contiguous(), self.conv.weight.detach(), self.conv.bias.detach(), self.bias.detach(), y, *x.shape, y.shape[1], below, across, size, stride, pad)
    return y
