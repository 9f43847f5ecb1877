# problem: buckets_of_values
# about: puts a value that is an edge behind it, not before it

cpp = r"""
#include <algorithm>
#include <cstdint>
extern "C" void run(const float* x, const float* edges, int64_t* y, int64_t n, int64_t m) {
  #pragma omp parallel for
  for (int64_t i = 0; i < n; ++i) y[i] = std::upper_bound(edges, edges + m, x[i]) - edges;
}
"""


def forward(self, x, edges):
    y = torch.empty(x.shape, dtype=torch.int64)
    lib.run(x, edges, y, x.numel(), edges.numel())
    return y
