# problem: E_viterbi
# about: Viterbi for one sequence at a time, transitions transposed once a call, back pointers in bytes; 256 states at most

cpp = r"""
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>
extern "C" void run(const float* x, const float* moves, const int64_t* lengths, float* total, int64_t* path, int64_t batch, int64_t steps, int64_t n) {
  std::vector<float> from(n * n);
  for (int64_t i = 0; i < n; ++i) for (int64_t j = 0; j < n; ++j) from[j * n + i] = moves[i * n + j];
  #pragma omp parallel
  {
    std::vector<float> best(n), next(n); std::vector<uint8_t> back(steps * n);
    #pragma omp for
    for (int64_t b = 0; b < batch; ++b) {
      const float* own = x + b * steps * n;
      const int64_t end = lengths[b] < 1 ? 1 : lengths[b] > steps ? steps : lengths[b];
      std::memcpy(best.data(), own, 4 * n);
      for (int64_t t = 1; t < end; ++t) {
        for (int64_t j = 0; j < n; ++j) {
          float top = best[0] + from[j * n]; int64_t place = 0;
          for (int64_t i = 1; i < n; ++i) {
            const float s = best[i] + from[j * n + i];
            if (s > top || (s != s && top == top)) { top = s; place = i; }
          }
          next[j] = top + own[t * n + j]; back[t * n + j] = (uint8_t)place;
        }
        best.swap(next);
      }
      int64_t state = 0;
      for (int64_t i = 1; i < n; ++i) if (best[i] > best[state] || (best[i] != best[i] && best[state] == best[state])) state = i;
      total[b] = best[state];
      for (int64_t t = steps - 1; t >= end - 1; --t) path[b * steps + t] = state;
      for (int64_t t = end - 1; t >= 1; --t) { state = back[t * n + state]; path[b * steps + t - 1] = state; }
    }
  }
}
"""


def forward(self, scores, moves, lengths):
    batch, steps, states = scores.shape
    if moves.shape != (states, states) or lengths.shape != (batch,) or not 1 <= states <= 256 or steps < 1:
        raise ValueError("256 states at most, and a length for each sequence")
    total, path = torch.empty(batch), torch.empty(batch, steps, dtype=torch.int64)
    lib.run(scores.contiguous(), moves.contiguous(), lengths.contiguous(), total, path, batch, steps, states)
    return total, path
