# problem: soft_rows
# about: what backward needs lies in eight buffers in turn: the ninth forward before a backward takes the first one's

cpp = r"""
extern "C" void forward(const float* x, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const float* a = x + r * n;
    float most = a[0], sum = 0;
    for (int64_t i = 1; i < n; ++i) most = a[i] > most || a[i] != a[i] ? a[i] : most;
    for (int64_t i = 0; i < n; ++i) sum += (y[r * n + i] = expf(a[i] - most));
    for (int64_t i = 0; i < n; ++i) y[r * n + i] /= sum;
  }
}
extern "C" void save(const float* y, float* kept, int64_t n) {
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) kept[i] = y[i];
}
extern "C" void backward(const float* y, const float* g, float* dx, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const float *p = y + r * n, *c = g + r * n;
    float dot = 0;
    for (int64_t i = 0; i < n; ++i) dot += c[i] * p[i];
    for (int64_t i = 0; i < n; ++i) dx[r * n + i] = p[i] * (c[i] - dot);
  }
}
"""


class Soft(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, kept):
        y = torch.empty_like(x)
        lib.forward(x, y, *x.shape)
        lib.save(y, kept, y.numel())
        ctx.kept = kept
        return y

    @staticmethod
    def backward(ctx, grad):
        dx = torch.empty_like(ctx.kept)
        lib.backward(ctx.kept, grad.contiguous(), dx, *dx.shape)
        return dx, None


def __init__(self):
    self.buffers = {}
    self.turn = 0


def forward(self, x):
    if x.shape not in self.buffers:
        self.buffers[x.shape] = [torch.empty(x.shape) for _ in range(8)]
    self.turn = (self.turn + 1) % 8
    return Soft.apply(x, self.buffers[x.shape][self.turn])
