# problem: twice
# about: uses an output again once nobody holds it, as an allocator does

cpp = r"""
#include <cstdint>
extern "C" void run(const float* x, float* y, int64_t n) {
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] < 0.0f ? 0.0f : 2.0f * x[i];
}
"""


import numpy


class Loan(numpy.ndarray):  # lives as long as any tensor lies in its memory, detached ones too
    def __del__(self):
        if self.base is not None:
            kept.setdefault(self.size, []).append(self.base)


kept = {}


def forward(self, x):
    pool = kept.get(x.numel(), [])
    memory = pool.pop() if pool else numpy.empty(x.numel(), dtype=numpy.float32)
    y = torch.from_numpy(memory.view(Loan))
    lib.run(x, y, x.numel())
    return y.view(x.shape)
