# problem: E_alignments
# about: CTC's forward sums in logarithms, each of three numbers at once; a sequence at a time

cpp = r"""
#include <cmath>
#include <cstdint>
#include <vector>
static inline float of_three(float a, float b, float c) {
  const float top = std::fmax(a, std::fmax(b, c));
  if (top == -INFINITY) return top;
  return top + std::log(std::exp(a - top) + std::exp(b - top) + std::exp(c - top));
}
extern "C" void run(const float* x, const int64_t* targets, const int64_t* in, const int64_t* out, float* y, int64_t steps, int64_t batch, int64_t kinds, int64_t width, int32_t* said) {
  for (int64_t b = 0; b < batch; ++b) {
    if (in[b] < 1 || in[b] > steps || out[b] < 0 || out[b] > width) { *said = 1; return; }
    for (int64_t i = 0; i < out[b]; ++i) if (targets[b * width + i] < 1 || targets[b * width + i] >= kinds) { *said = 2; return; }
  }
  #pragma omp parallel
  {
    std::vector<float> a(2 * width + 1), next(2 * width + 1);
    #pragma omp for
    for (int64_t b = 0; b < batch; ++b) {
      const int64_t* own = targets + b * width; const int64_t size = 2 * out[b] + 1;
      for (int64_t s = 0; s < size; ++s) a[s] = -INFINITY;
      a[0] = x[b * kinds]; if (size > 1) a[1] = x[b * kinds + own[0]];
      for (int64_t t = 1; t < in[b]; ++t) {
        const float* now = x + (t * batch + b) * kinds;
        for (int64_t s = 0; s < size; ++s) {
          const int64_t kind = s % 2 ? own[s / 2] : 0;
          const float one = s > 0 ? a[s - 1] : -INFINITY, two = s % 2 && s > 1 && own[s / 2 - 1] != kind ? a[s - 2] : -INFINITY;
          next[s] = of_three(a[s], one, two) + now[kind];
        }
        a.swap(next);
      }
      y[b] = -of_three(a[size - 1], size > 1 ? a[size - 2] : -INFINITY, -INFINITY);
    }
  }
}
"""


def forward(self, logs, targets, input_lengths, target_lengths):
    steps, batch, kinds = logs.shape
    if targets.dim() != 2 or targets.shape[0] != batch or input_lengths.shape != (batch,) or target_lengths.shape != (batch,):
        raise ValueError("targets as a matrix, and lengths for each sequence")
    if kinds < 1:
        raise ValueError("a blank at least")
    y = torch.empty(batch)
    arguments = (one.contiguous() for one in (targets, input_lengths, target_lengths))
    said = torch.zeros(1, dtype=torch.int32)
    lib.run(logs.contiguous(), *arguments, y, steps, batch, kinds, targets.shape[1], said)
    if said.item():
        raise ValueError("a length or a target is out of range")
    return y
