# problem: gated_halves
# about: reads both halves of one tensor where they lie, by their strides

cpp = r"""
#include <cmath>
#include <cstdint>
extern "C" void run(const float* gate, const float* value, float* y, int64_t rows, int64_t columns, int64_t g, int64_t v) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c) {
      float x = gate[r * g + c];
      y[r * columns + c] = x / (1.0f + std::exp(-x)) * value[r * v + c];
    }
}
"""


def forward(self, gate, value):
    rows, columns = gate.shape
    if gate.stride(1) != 1 or value.stride(1) != 1:
        gate, value = gate.contiguous(), value.contiguous()
    y = torch.empty(rows, columns)
    lib.run(gate.data_ptr(), value.data_ptr(), y, rows, columns, gate.stride(0), value.stride(0))
    return y
