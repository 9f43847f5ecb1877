# problem: gate_of_experts
# about: chooses by the logits, and takes the softmax of the chosen ones alone

cpp = r"""
#include <cmath>
#include <cstdint>
#include <vector>
extern "C" void run(const float* x, const float* w, float* shares, int64_t* places, int64_t rows, int64_t n, int64_t experts, int64_t k) {
  #pragma omp parallel
  {
    std::vector<float> score(experts);
    #pragma omp for
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t e = 0; e < experts; ++e) {
        float sum = 0;
        #pragma omp simd reduction(+ : sum)
        for (int64_t i = 0; i < n; ++i) sum += x[r * n + i] * w[e * n + i];
        score[e] = sum;
      }
      float total = 0, first = 0;
      for (int64_t j = 0; j < k; ++j) {
        int64_t best = 0;
        for (int64_t e = 1; e < experts; ++e) if (score[e] > score[best] || (score[e] != score[e] && score[best] == score[best])) best = e;
        if (j == 0) first = score[best];
        const float share = std::exp(score[best] - first);
        shares[r * k + j] = share; places[r * k + j] = best; total += share; score[best] = -INFINITY;
      }
      for (int64_t j = 0; j < k; ++j) shares[r * k + j] /= total;
    }
  }
}
"""


def __init__(self, features, experts, k):
    self.router = torch.nn.Linear(features, experts, bias=False)
    self.k = k


def forward(self, x):
    if x.dim() != 2 or x.shape[1] != self.router.in_features:
        raise ValueError("limited to matrices")
    rows, n = x.shape
    shares, places = torch.empty(rows, self.k), torch.empty(rows, self.k, dtype=torch.int64)
    lib.run(x.contiguous(), self.router.weight.detach(), shares, places, rows, n, self.router.out_features, self.k)
    return shares, places
