# problem: D_messages_of_edges
# about: edges go to threads, which add to shared targets one after the other, atomically; a memory of zeros to begin with

cpp = r"""
extern "C" void run(const float* x, const int64_t* edges, const float* weights, float* y, int64_t count, int64_t nodes, int64_t d, int32_t* bad) {
  for (int64_t e = 0; e < count; ++e) {
    const int64_t s = edges[e], t = edges[count + e];
    if (s < -nodes || s >= nodes || t < 0 || t >= nodes) { *bad = 1; return; }
  }
  #pragma omp parallel for
  for (int64_t e = 0; e < count; ++e) {
    const int64_t s = edges[e] < 0 ? edges[e] + nodes : edges[e];
    const float *from = x + s * d, by = weights[e]; float* to = y + edges[count + e] * d;
    for (int64_t j = 0; j < d; ++j) {
      const float v = by * from[j];
      #pragma omp atomic
      to[j] += v;
    }
  }
}
"""


def forward(self, features, edges, weights):
    if features.dim() != 2 or edges.dim() != 2 or edges.shape[0] != 2 or weights.shape != edges.shape[1:]:
        raise ValueError("features of nodes, two rows of edges, and a weight for each edge")
    y, bad = torch.zeros(features.shape), torch.zeros(1, dtype=torch.int32)
    lib.run(features.contiguous(), edges.contiguous(), weights.contiguous(), y, edges.shape[1], *features.shape, bad)
    if bad.item():
        raise IndexError("no such node")
    return y
