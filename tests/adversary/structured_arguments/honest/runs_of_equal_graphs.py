# problem: segment_maxima
# about: finds where each graph begins by halves, which relies on the order of nodes

cpp = r"""
#include <algorithm>
#include <cmath>
#include <cstdint>
extern "C" void run(const float* x, const int64_t* graph, float* y, int64_t nodes, int64_t n, int64_t count) {
  #pragma omp parallel for schedule(dynamic)
  for (int64_t g = 0; g < count; ++g) {
    const int64_t begin = std::lower_bound(graph, graph + nodes, g) - graph, end = std::upper_bound(graph + begin, graph + nodes, g) - graph;
    float* out = y + g * n;
    for (int64_t i = 0; i < n; ++i) out[i] = -INFINITY;
    for (int64_t r = begin; r < end; ++r) for (int64_t i = 0; i < n; ++i) { const float v = x[r * n + i]; out[i] = v > out[i] || v != v ? v : out[i]; } }
}
"""


def forward(self, x, graph, count):
    nodes, n = x.shape
    if graph.shape != (nodes,) or graph.dtype != torch.int64 or count < 0:
        raise ValueError("a graph for each node")
    if nodes and not 0 <= int(graph[0]) <= int(graph[-1]) < count:
        raise IndexError("no such graph")
    y = torch.empty(count, n)
    lib.run(x.contiguous(), graph.contiguous(), y, nodes, n, count)
    return y
