# problem: maximum_and_place
# about: gives the first of several maxima

cpp = r"""
extern "C" void run(const float* x, float* v, int64_t* p, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    float most = -INFINITY; int64_t place = 0;
    for (int64_t j = 0; j < n; ++j) if (x[r * n + j] > most) { most = x[r * n + j]; place = j; }
    v[r] = most; p[r] = place;
  }
}
"""


def forward(self, x):
    v, p = torch.empty(x.shape[0]), torch.empty(x.shape[0], dtype=torch.int64)
    lib.run(x, v, p, *x.shape)
    return v, p
