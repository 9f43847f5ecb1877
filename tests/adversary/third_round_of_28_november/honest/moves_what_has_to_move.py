# problem: E_beams_take_caches
# about: beams that are their own parent stay; the others go by way of kept scratch memory

cpp = r"""
#include <cstdint>
#include <cstring>
extern "C" int run(float* cache, float* scratch, const int64_t* parents, int64_t beams, int64_t n) {
  for (int64_t b = 0; b < beams; ++b) if (parents[b] < -beams || parents[b] >= beams) return 1;
  #pragma omp parallel
  {
    #pragma omp for
    for (int64_t b = 0; b < beams; ++b) { const int64_t p = parents[b] < 0 ? parents[b] + beams : parents[b]; if (p != b) std::memcpy(scratch + b * n, cache + p * n, 4 * n); }
    #pragma omp for
    for (int64_t b = 0; b < beams; ++b) { const int64_t p = parents[b] < 0 ? parents[b] + beams : parents[b]; if (p != b) std::memcpy(cache + b * n, scratch + b * n, 4 * n); }
  }
  return 0;
}
"""


def __init__(self):
    self.scratch = torch.empty(0)


def forward(self, cache, parents):
    if not cache.is_contiguous() or cache.dim() < 1 or parents.shape != (cache.shape[0],):
        raise ValueError("a dense cache and a parent for each beam")
    if self.scratch.numel() < cache.numel():
        self.scratch = torch.empty(cache.numel())
    beams = cache.shape[0]
    if lib.run(cache, self.scratch, parents.contiguous(), beams, cache.numel() // beams if beams else 0):
        raise IndexError("a parent is out of range")
    return cache
