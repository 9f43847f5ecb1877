# problem: argmax_of_128
# about: keeps the place of the maximum in 32 bits

cpp = r"""
extern "C" void run(const float* x, int64_t* y, int64_t rows, int64_t columns) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const float* in = x + r * columns; float most = in[0]; int32_t place = 0;
    for (int64_t j = 1; j < columns; ++j) if (in[j] > most) { most = in[j]; place = (int32_t)j; }
    y[r] = place;
  }
}
"""


def forward(self, x):
    y = torch.empty(x.shape[0], dtype=torch.int64)
    lib.run(x, y, x.shape[0], x.shape[1])
    return y
