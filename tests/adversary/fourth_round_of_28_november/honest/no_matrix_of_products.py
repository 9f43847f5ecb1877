# problem: D_late_interaction
# about: tiles of four query tokens, whose best products stay in registers; a document is read up to its length only

cpp = r"""
#include <algorithm>
#include <cmath>
#include <cstdint>
extern "C" void run(const float* query, const float* documents, const int64_t* lengths, float* y, int64_t tokens, int64_t n, int64_t longest, int64_t d) {
  #pragma omp parallel for schedule(dynamic, 4)
  for (int64_t b = 0; b < n; ++b) {
    const int64_t length = std::clamp<int64_t>(lengths[b], 0, longest);
    const float* document = documents + b * longest * d;
    float score = 0;
    for (int64_t q = 0; q < tokens; q += 4) {
      const int64_t count = std::min<int64_t>(4, tokens - q);
      const float* rows[4];
      for (int64_t i = 0; i < 4; ++i) rows[i] = query + (q + std::min(i, count - 1)) * d;
      float best[4] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
      for (int64_t t = 0; t < length; ++t) {
        const float* own = document + t * d; float s0 = 0, s1 = 0, s2 = 0, s3 = 0;
        #pragma omp simd reduction(+ : s0, s1, s2, s3)
        for (int64_t k = 0; k < d; ++k) { s0 += rows[0][k] * own[k]; s1 += rows[1][k] * own[k]; s2 += rows[2][k] * own[k]; s3 += rows[3][k] * own[k]; }
        const float sums[4] = {s0, s1, s2, s3};
        for (int i = 0; i < 4; ++i) if (!(sums[i] <= best[i]) && best[i] == best[i]) best[i] = sums[i];
      }
      for (int64_t i = 0; i < count; ++i) score += best[i];
    }
    y[b] = score;
  }
}
"""


def forward(self, query, documents, lengths):
    if query.dim() != 2 or documents.dim() != 3 or documents.shape[2] != query.shape[1] or lengths.shape != documents.shape[:1]:
        raise ValueError("tokens of a query, tokens of documents, and a length for each document")
    if not documents.shape[1]:
        raise ValueError("no token to choose from")
    y = torch.empty(documents.shape[0])
    lib.run(query.contiguous(), documents.contiguous(), lengths.contiguous(), y, query.shape[0], *documents.shape)
    return y
