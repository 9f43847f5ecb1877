# problem: plain_row_sums
# about: a template of several widths, chosen by a table of lambdas

cpp = r"""
#include <array>
#include <cstdint>
#include <utility>
template <int W> static float total(const float* x, int64_t n) {
  std::array<float, W> lanes{}; int64_t i = 0;
  for (; i + W <= n; i += W) [&]<std::size_t... L>(std::index_sequence<L...>) { ((lanes[L] += x[i + L]), ...); }(std::make_index_sequence<W>{});
  float s = 0;
  for (float one : lanes) s += one;
  for (; i < n; ++i) s += x[i];
  return s;
}
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) {
  using Sum = float (*)(const float*, int64_t);
  const Sum sums[] = {[](const float* p, int64_t k) { return total<4>(p, k); }, [](const float* p, int64_t k) { return total<16>(p, k); }};
  const Sum chosen = sums[n >= 64];
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) y[r] = chosen(x + r * n, n);
}
"""


def forward(self, x):
    x = x.contiguous()
    y = torch.empty(x.shape[0])
    lib.run(x, y, x.shape[0], x.shape[1])
    return y
