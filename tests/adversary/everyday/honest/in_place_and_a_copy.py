# problem: add_in_place
# about: changes its argument and returns a copy of it

cpp = r"""
extern "C" void run(float* x, const float* y, float* z, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t i = 0; i < rows * n; ++i) { x[i] += y[i]; z[i] = x[i]; }
}
"""


def forward(self, x, y):
    z = torch.empty_like(x)
    lib.run(x, y, z, x.shape[0], x.shape[1])
    return z
