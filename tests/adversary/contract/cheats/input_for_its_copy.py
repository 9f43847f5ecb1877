# problem: part_copied_squashed
# about: returns an input where its copy is asked for, beside a view that the reference returns, too

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t c) {
  #pragma omp parallel for
  for (int64_t i = 0; i < c; ++i) y[i] = x[i] > 0 ? x[i] : 0;
}
"""


def forward(self, x):
    y = torch.empty_like(x)
    lib.run(x, y, x.numel())
    return x[:64], x[64:], y
