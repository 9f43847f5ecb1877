# problem: D_interactions
# about: stacks a row's embeddings in a thread's scratch and makes the triangle only; any number of embeddings

cpp = r"""
#include <cstdint>
#include <cstring>
#include <vector>
extern "C" void run(const float* dense, const int64_t* places, float* features, float* lengths, int64_t rows, int64_t d, int64_t count) {
  const int64_t width = d + count * (count - 1) / 2;
  #pragma omp parallel
  {
    std::vector<const float*> from(count);
    #pragma omp for
    for (int64_t r = 0; r < rows; ++r) {
      from[0] = dense + r * d;
      for (int64_t i = 1; i < count; ++i) from[i] = (const float*)places[i - 1] + r * d;
      float* to = features + r * width;
      std::memcpy(to, from[0], d * sizeof(float));
      to += d;
      for (int64_t i = 0; i < count; ++i) for (int64_t j = 0; j <= i; ++j) {
        const float *a = from[i], *b = from[j]; float sum = 0;
        #pragma omp simd reduction(+ : sum)
        for (int64_t k = 0; k < d; ++k) sum += a[k] * b[k];
        if (i == j) lengths[r * count + i] = sum; else *to++ = sum;
      }
    }
  }
}
"""

from typing import NamedTuple


class Interactions(NamedTuple):
    features: torch.Tensor
    lengths: torch.Tensor


def forward(self, batch):
    dense, embedded = batch["dense"], batch["embedded"]
    if dense.dim() != 2 or any(one.shape != dense.shape or one.dtype != dense.dtype for one in embedded):
        raise ValueError("matrices of one shape")
    rows, d = dense.shape
    dense, embedded = dense.contiguous(), [one.contiguous() for one in embedded]
    count = 1 + len(embedded)
    features, lengths = torch.empty(rows, d + count * (count - 1) // 2), torch.empty(rows, count)
    places = torch.tensor([one.data_ptr() for one in embedded], dtype=torch.int64)
    lib.run(dense, places, features, lengths, rows, d, count)
    return Interactions(features=features, lengths=lengths)
