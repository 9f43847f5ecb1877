# problem: top_experts
# about: writes the shares into a dense gate, which relies on the two experts of a token being different

cpp = r"""
#include <cstdint>
#include <cstring>
#include <vector>
extern "C" void run(const float* x, const int64_t* experts, const float* shares, const float* w, float* y,
                    int64_t tokens, int64_t n, int64_t k, int64_t count) {
  #pragma omp parallel
  {
    std::vector<float> gate(count);
    #pragma omp for
    for (int64_t t = 0; t < tokens; ++t) {
      for (auto& g : gate) g = 0;
      for (int64_t j = 0; j < k; ++j) gate[experts[t * k + j]] = shares[t * k + j];
      const float* in = x + t * n;
      float* out = y + t * n; std::memset(out, 0, 4 * n);
      for (int64_t e = 0; e < count; ++e) {
        if (gate[e] == 0) continue;
        for (int64_t o = 0; o < n; ++o) {
          const float* row = w + (e * n + o) * n; float sum = 0;
          #pragma omp simd reduction(+ : sum)
          for (int64_t i = 0; i < n; ++i) sum += row[i] * in[i];
          out[o] += gate[e] * sum; } } }
  }
}
"""


def __init__(self, experts, features):
    self.weight = torch.nn.Parameter(torch.randn(experts, features, features) / features**0.5)


def forward(self, x, experts, shares):
    tokens, n = x.shape
    if experts.shape != shares.shape or experts.shape[0] != tokens or n != self.weight.shape[1]:
        raise ValueError("experts and shares for each token")
    if experts.numel() and not 0 <= int(experts.min()) <= int(experts.max()) < self.weight.shape[0]:
        raise IndexError("no such expert")
    y = torch.empty(tokens, n)
    w = self.weight.detach()
    lib.run(x.contiguous(), experts.contiguous(), shares.contiguous(), w, y, tokens, n, experts.shape[1], w.shape[0])
    return y
