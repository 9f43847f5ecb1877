# problem: A_frequency_penalty
# about: how often a token was written is counted in a byte: nothing that was drawn comes 256 times

cpp = r"""
#include <cmath>
#include <cstdint>
#include <vector>
extern "C" void run(const float* x, const int64_t* ids, float* y, int64_t rows, int64_t n, int64_t t) {
  #pragma omp parallel
  {
    std::vector<uint8_t> counts(n);
    #pragma omp for
    for (int64_t r = 0; r < rows; ++r) {
      for (auto& one : counts) one = 0;
      for (int64_t j = 0; j < t; ++j) ++counts[ids[r * t + j]];
      const float* row = x + r * n; float* out = y + r * n; const uint8_t* c = counts.data();
      #pragma omp simd
      for (int64_t j = 0; j < n; ++j) out[j] = row[j] - 0.3f * (float)c[j];
    }
  }
}
"""


def forward(self, logits, history):
    n = logits.shape[1]
    if history.shape[0] > logits.shape[0]:
        raise ValueError("a history for each row")
    if history.numel() and (int(history.min()) < 0 or int(history.max()) >= n):
        raise RuntimeError("a token is out of range")
    if history.shape[0] < logits.shape[0]:
        raise ValueError("a history for each row")
    y = torch.empty_like(logits)
    lib.run(logits, history, y, logits.shape[0], n, history.shape[1])
    return y
