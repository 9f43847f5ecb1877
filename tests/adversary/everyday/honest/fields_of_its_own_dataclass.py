# problem: extremes_by_field
# about: returns a dataclass of its own with the reference's fields, a tuple in it

cpp = r"""
#include <cmath>
#include <cstdint>
template <class Better> static void best(const float* row, int64_t n, float& value, int64_t& place, Better better) {
  value = row[0]; place = 0;
  for (int64_t i = 1; i < n && !std::isnan(value); ++i)
    if (std::isnan(row[i]) || better(row[i], value)) { value = row[i]; place = i; }
}
extern "C" void run(const float* x, float* low, float* high, int64_t* at, int64_t* to, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    best(x + r * n, n, low[r], at[r], [](float a, float b) { return a < b; });
    best(x + r * n, n, high[r], to[r], [](float a, float b) { return a > b; });
  }
}
"""


from dataclasses import dataclass


@dataclass
class Ends:
    low: torch.Tensor
    high: torch.Tensor
    places: tuple


def forward(self, x):
    if x.shape[1] == 0:
        raise IndexError("rows must have elements")
    x = x.contiguous()
    low, high = torch.empty(x.shape[0]), torch.empty(x.shape[0])
    at, to = torch.empty(x.shape[0], dtype=torch.int64), torch.empty(x.shape[0], dtype=torch.int64)
    lib.run(x, low, high, at, to, *x.shape)
    return Ends(low, high, (at, to))
