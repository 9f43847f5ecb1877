# problem: E_graph_attention
# about: an online softmax over each node's neighbours; a node without any gets zeros

cpp = r"""
#include <cmath>
#include <cstdint>
extern "C" void run(const float* x, const float* own, const float* other, const int64_t* starts, const int64_t* columns, float* y, int64_t nodes, int64_t sources, int64_t entries, int64_t d, int32_t* said) {
  if (starts[0] != 0 || starts[nodes] != entries) { *said = 1; return; }
  for (int64_t i = 0; i < nodes; ++i) if (starts[i + 1] < starts[i]) { *said = 1; return; }
  for (int64_t i = 0; i < entries; ++i) if (columns[i] < 0 || columns[i] >= sources) { *said = 1; return; }
  #pragma omp parallel for schedule(dynamic, 16)
  for (int64_t r = 0; r < nodes; ++r) {
    float top = -INFINITY, total = 0; float* out = y + r * d;
    for (int64_t j = 0; j < d; ++j) out[j] = 0;
    for (int64_t e = starts[r]; e < starts[r + 1]; ++e) {
      const float sum = own[r] + other[columns[e]], score = sum > 0 ? sum : 0.2f * sum; const float* from = x + columns[e] * d;
      if (score == -INFINITY) continue;
      if (score > top) {
        const float less = std::exp(top - score); total *= less; top = score;
        for (int64_t j = 0; j < d; ++j) out[j] *= less;
      }
      const float share = std::exp(score - top); total += share;
      #pragma omp simd
      for (int64_t j = 0; j < d; ++j) out[j] += share * from[j];
    }
    if (starts[r + 1] > starts[r]) for (int64_t j = 0; j < d; ++j) out[j] /= total;
  }
}
"""


def forward(self, features, own, other, starts, columns):
    nodes, (sources, d) = starts.shape[0] - 1, features.shape
    if nodes < 0 or own.shape[0] < nodes or other.shape != (sources,) or own.dim() != 1 or columns.dim() != 1:
        raise ValueError("a score for each node")
    y = torch.empty(nodes, d)
    arguments = [one.contiguous() for one in (features, own, other, starts, columns)]
    said = torch.zeros(1, dtype=torch.int32)
    lib.run(*arguments, y, nodes, sources, columns.shape[0], d, said)
    if said.item():
        raise ValueError("no such graph")
    return y
