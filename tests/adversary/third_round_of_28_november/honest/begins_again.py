# problem: E_sums_within_segments
# about: a sum that begins again at each segment, so that nothing is taken off; refuses numbers out of order

cpp = r"""
#include <cstdint>
#include <vector>
extern "C" void run(const float* x, const int64_t* s, float* y, int64_t rows, int64_t n, int32_t* said) {
  for (int64_t r = 1; r < rows; ++r) if (s[r] < s[r - 1]) { *said = 1; return; }
  #pragma omp parallel for
  for (int64_t c = 0; c < n; ++c) {
    double sum = 0;
    for (int64_t r = 0; r < rows; ++r) {
      if (r && s[r] != s[r - 1]) sum = 0;
      sum += x[r * n + c]; y[r * n + c] = (float)sum;
    }
  }
}
"""


def forward(self, x, segments):
    if x.dim() != 2 or segments.shape != x.shape[:1]:
        raise ValueError("a segment for each row")
    y = torch.empty(x.shape)
    said = torch.zeros(1, dtype=torch.int32)
    lib.run(x.contiguous(), segments.contiguous(), y, *x.shape, said)
    if said.item():
        raise ValueError("segments are in order")
    return y
