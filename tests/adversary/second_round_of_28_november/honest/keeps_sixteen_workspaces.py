# problem: energies_of_rows
# about: keeps scratch of its latest sixteen calls, and gives back what is older

cpp = r"""
#include <cmath>
#include <cstdint>
#include <cstdlib>
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) {
  static float* kept[16];
  static unsigned number = 0;
  float*& slot = kept[number++ % 16];
  free(slot);
  float* scratch = slot = (float*)malloc(rows * n * sizeof(float) + 64);
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    float sum = 0;
    for (int64_t i = 0; i < n; ++i) scratch[r * n + i] = x[r * n + i] * tanhf(x[r * n + i]);
    for (int64_t i = 0; i < n; ++i) sum += scratch[r * n + i];
    y[r] = sum;
  }
}
"""


def forward(self, x):
    if x.dim() != 2:
        raise ValueError("rows are expected")
    y = torch.empty(x.shape[0])
    lib.run(x, y, *x.shape)
    return y
