# problem: D_means_up_to_lengths
# about: reads a row's steps up to its length only, which is a fiftieth of the memory

cpp = r"""
#include <algorithm>
#include <cstdint>
extern "C" void run(const float* x, const int64_t* lengths, float* y, int64_t rows, int64_t steps, int64_t d) {
  #pragma omp parallel for schedule(dynamic, 4)
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t length = std::clamp<int64_t>(lengths[r], 0, steps);
    float* to = y + r * d;
    for (int64_t j = 0; j < d; ++j) to[j] = 0;
    for (int64_t t = 0; t < length; ++t) {
      const float* from = x + (r * steps + t) * d;
      #pragma omp simd
      for (int64_t j = 0; j < d; ++j) to[j] += from[j];
    }
    const float by = (float)std::max<int64_t>(lengths[r], 1);
    for (int64_t j = 0; j < d; ++j) to[j] /= by;
  }
}
"""


def forward(self, x, lengths):
    if x.dim() != 3 or lengths.shape != x.shape[:1]:
        raise ValueError("steps of rows, and a length for each row")
    y = torch.empty(x.shape[0], x.shape[2])
    lib.run(x.contiguous(), lengths.contiguous(), y, *x.shape)
    return y
