# problem: total
# about: torch's vector classes and at::parallel_for, which is a template
import kernelwright_rt
import torch

lib = kernelwright_rt.compile_cpp(r"""
#include <ATen/Parallel.h>
#include <ATen/cpu/vec/vec.h>
#include <cstdint>
extern "C" void run(const float* x, const float* y, float* z, int64_t n) {
  using V = at::vec::Vectorized<float>;
  at::parallel_for(0, n, 32768, [&](int64_t from, int64_t to) {
    int64_t i = from;
    for (; i + V::size() <= to; i += V::size()) (V::loadu(x + i) + V::loadu(y + i)).store(z + i);
    for (; i < to; ++i) z[i] = x[i] + y[i];
  });
}
""")


class ModelNew(torch.nn.Module):
    def forward(self, x, y):
        z = torch.empty_like(x)
        lib.run(x, y, z, x.numel())
        return z
