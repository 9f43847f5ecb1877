# problem: E_hidden_states
# about: the same as forward_with_scales, which looks for negative numbers in C++ instead of by torch

cpp = r"""
#include <cmath>
#include <cstdint>
#include <vector>
extern "C" void run(const int64_t* symbols, const float* start, const float* moves, const float* emits, float* y, int64_t batch, int64_t steps, int64_t n, int64_t kinds, int32_t* said) {
  for (int64_t i = 0; i < batch * steps; ++i) if (symbols[i] < -kinds || symbols[i] >= kinds) { *said = 1; return; }
  for (int64_t i = 0; i < n; ++i) if (start[i] < 0) { *said = 2; return; }
  for (int64_t i = 0; i < n * n; ++i) if (moves[i] < 0) { *said = 2; return; }
  for (int64_t i = 0; i < n * kinds; ++i) if (emits[i] < 0) { *said = 2; return; }
  #pragma omp parallel
  {
    std::vector<double> a(n), next(n);
    #pragma omp for
    for (int64_t b = 0; b < batch; ++b) {
      double log = 0;
      for (int64_t t = 0; t < steps; ++t) {
        int64_t s = symbols[b * steps + t]; if (s < 0) s += kinds;
        double total = 0;
        for (int64_t j = 0; j < n; ++j) {
          double sum = 0;
          if (t == 0) sum = start[j];
          else for (int64_t i = 0; i < n; ++i) sum += a[i] * moves[i * n + j];
          next[j] = sum * emits[j * kinds + s]; total += next[j];
        }
        log += std::log(total);
        if (!(total > 0)) break;
        for (int64_t j = 0; j < n; ++j) a[j] = next[j] / total;
      }
      y[b] = (float)log;
    }
  }
}
"""


def forward(self, symbols, start, moves, emits):
    batch, steps = symbols.shape
    n, kinds = emits.shape
    if moves.shape != (n, n) or start.shape != (n,) or steps < 1 or n < 1:
        raise ValueError("as many states in each argument, and one step at least")
    y = torch.empty(batch)
    said = torch.zeros(1, dtype=torch.int32)
    lib.run(symbols.contiguous(), start.contiguous(), moves.contiguous(), emits.contiguous(), y, batch, steps, n, kinds, said)
    if said.item():
        raise IndexError("a symbol is out of range, or a share is negative")
    return y
