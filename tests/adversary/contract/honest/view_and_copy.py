# problem: part_copied_squashed
# about: returns a view of an input where the reference does, and a copy where it does

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t c) {
  #pragma omp parallel for
  for (int64_t i = 0; i < c; ++i) y[i] = x[i] > 0 ? x[i] : 0;
}
"""


def forward(self, x):
    y = torch.empty_like(x)
    lib.run(x, y, x.numel())
    return x[:64], x[64:].clone(), y
