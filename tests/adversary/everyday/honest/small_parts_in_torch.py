# problem: scaled_by_reciprocals
# about: reciprocals of a vector by PyTorch, as views of one tensor that the kernel reads, and all elements in one pass

cpp = r"""
extern "C" void run(const float* x, const float* v, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) for (int64_t i = 0; i < n; ++i) {
    float u = (x[r * n + i] - v[i]) * v[n + i];
    y[r * n + i] = 0.5f * u * std::erfc(-u * 0.70710678f);
  }
}
"""


def __init__(self, width):
    self.spread = torch.nn.Parameter(torch.empty(width))
    self.shift = torch.nn.Parameter(torch.empty(width))


def forward(self, x):
    width = self.spread.shape[0]
    if x.shape[-1] != width:
        raise ValueError(f"rows of {width} are expected, not {x.shape[-1]}")
    both = torch.empty(2, width)
    both[0].copy_(self.shift.detach())
    both[1].copy_(self.spread.detach()).reciprocal_()
    x = x.contiguous()
    y = torch.empty_like(x)
    lib.run(x, both, y, x.numel() // width, width)
    return y
