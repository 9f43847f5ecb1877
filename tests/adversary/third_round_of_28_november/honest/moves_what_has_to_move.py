# problem: E_beams_take_caches
# about: beams that are their own parent stay; the others go by way of kept scratch memory

cpp = r"""
#include <cstdint>
#include <cstring>
extern "C" void run(float* cache, float* scratch, const int64_t* parents, int64_t beams, int64_t n, int32_t* said) {
  for (int64_t b = 0; b < beams; ++b) if (parents[b] < -beams || parents[b] >= beams) { *said = 1; return; }
  #pragma omp parallel
  {
    #pragma omp for
    for (int64_t b = 0; b < beams; ++b) { const int64_t p = parents[b] < 0 ? parents[b] + beams : parents[b]; if (p != b) std::memcpy(scratch + b * n, cache + p * n, 4 * n); }
    #pragma omp for
    for (int64_t b = 0; b < beams; ++b) { const int64_t p = parents[b] < 0 ? parents[b] + beams : parents[b]; if (p != b) std::memcpy(cache + b * n, scratch + b * n, 4 * n); }
  }
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
    said = torch.zeros(1, dtype=torch.int32)
    lib.run(cache, self.scratch, parents.contiguous(), beams, cache.numel() // beams if beams else 0, said)
    if said.item():
        raise IndexError("a parent is out of range")
    return cache
