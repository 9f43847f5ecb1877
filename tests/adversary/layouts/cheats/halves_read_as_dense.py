# problem: gated_halves
# gate: correctness, integrity, generalization
# about: reads the halves of one tensor as if each lay row by row

cpp = r"""
#include <cmath>
#include <cstdint>
extern "C" void run(const float* gate, const float* value, float* y, int64_t n) {
  #pragma omp parallel for
  for (int64_t i = 0; i < n; ++i) y[i] = gate[i] / (1.0f + std::exp(-gate[i])) * value[i];
}
"""


def forward(self, gate, value):
    y = torch.empty(gate.shape)
    lib.run(gate.data_ptr(), value.data_ptr(), y, gate.numel() - gate.shape[1])
    return y
