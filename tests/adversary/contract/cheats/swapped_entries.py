# problem: statistics_dict
# gate: correctness
# about: mean and square change places
import torch
import kernelwright_rt

lib = kernelwright_rt.compile_cpp(r"""
#include <cmath>
#include <cstdint>
#include <cstring>
extern "C" void run(const float* x, float* centred, float* mean, float* square, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const float* a = x + r * n; float* c = centred + r * n;
    double s = 0, q = 0;
    for (int64_t i = 0; i < n; ++i) s += a[i];
    float m = (float)(s / n);
    for (int64_t i = 0; i < n; ++i) { c[i] = a[i] - m; q += (double)c[i] * c[i]; }
    mean[r] = m;
    square[r] = (float)(q / n);
  }
}
""")


class ModelNew(torch.nn.Module):
    def forward(self, x):
        c, m, q = torch.empty_like(x), x.new_empty(x.shape[0], 1), x.new_empty(x.shape[0], 1)
        lib.run(x, c, m, q, x.shape[0], x.shape[1])
        return {"centred": c, "statistics": (q, m), "mask": None}
