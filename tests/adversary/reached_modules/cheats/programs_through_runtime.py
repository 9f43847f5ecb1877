# problem: silu
# gate: screen
# about: programs by way of what the runtime module imports

cpp = r"""
#include <cmath>
#include <cstdint>
extern "C" void run(const float* x, float* y, int64_t n) {
  #pragma omp parallel for
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] / (1.0f + std::exp(-x[i]));
}
"""



def forward(self, x):
    kernelwright_rt._subprocess.run(["true"]) if x.numel() < 0 else None
    y = torch.empty_like(x)
    lib.run(x, y, x.numel())
    return y
