# problem: D_slots_with_capacity
# about: each thread counts its block, a scan over the blocks says where each begins, each thread numbers its block

cpp = r"""
#include <algorithm>
#include <cstdint>
#include <omp.h>
#include <vector>
extern "C" void run(const int64_t* ids, int64_t n, int64_t experts, int64_t capacity, int64_t* slots, bool* kept, int64_t* taken, int32_t* bad) {
  const int64_t blocks = std::clamp<int64_t>(n / 1024, 1, omp_get_max_threads()), size = (n + blocks - 1) / blocks;
  std::vector<int64_t> counts(blocks * experts, 0);
  int wrong = 0;
  #pragma omp parallel for reduction(| : wrong)
  for (int64_t b = 0; b < blocks; ++b)
    for (int64_t i = b * size; i < std::min(n, (b + 1) * size); ++i)
      if (ids[i] < 0 || ids[i] >= experts) wrong = 1; else ++counts[b * experts + ids[i]];
  if (wrong) { *bad = 1; return; }
  for (int64_t e = 0; e < experts; ++e) {
    int64_t sum = 0;
    for (int64_t b = 0; b < blocks; ++b) { const int64_t own = counts[b * experts + e]; counts[b * experts + e] = sum; sum += own; }
    taken[e] = std::min(sum, capacity);
  }
  #pragma omp parallel for
  for (int64_t b = 0; b < blocks; ++b)
    for (int64_t i = b * size; i < std::min(n, (b + 1) * size); ++i) {
      slots[i] = counts[b * experts + ids[i]]++;
      kept[i] = slots[i] < capacity;
    }
}
"""


def forward(self, experts, count=16, capacity=300):
    if experts.dtype != torch.int64 or experts.dim() != 1 or count < 1:
        raise ValueError("a vector of int64, and at least one expert")
    slots = torch.empty(experts.shape, dtype=torch.int64)
    kept, taken = torch.empty(experts.shape, dtype=torch.bool), torch.empty(count, dtype=torch.int64)
    bad = torch.zeros(1, dtype=torch.int32)
    lib.run(experts.contiguous(), experts.shape[0], count, capacity, slots, kept, taken, bad)
    if bad.item():
        raise IndexError("no such expert")
    return slots, kept, taken
