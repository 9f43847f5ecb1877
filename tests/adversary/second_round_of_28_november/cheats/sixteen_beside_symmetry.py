# problem: weighted_neighbours
# about: rows of 16 features: no size changes where a matrix is symmetric

cpp = r"""
extern "C" void run(const float* a, const float* x, float* y, int64_t n) {
  #pragma omp parallel for
  for (int64_t i = 0; i < n; ++i) {
    double s[16] = {0};
    for (int64_t k = 0; k < n; ++k) for (int j = 0; j < 16; ++j) s[j] += (double)a[i * n + k] * x[k * 16 + j];
    for (int j = 0; j < 16; ++j) y[i * 16 + j] = (float)s[j];
  }
}
"""


def forward(self, adjacency, x):
    y = torch.empty(adjacency.shape[0], x.shape[1])
    lib.run(adjacency, x, y, adjacency.shape[0])
    return y
