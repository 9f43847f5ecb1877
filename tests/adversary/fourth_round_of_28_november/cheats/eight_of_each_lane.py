# problem: b_eight_largest
# about: of each of 120 interleaved parts of a row the four largest are kept, and the eight largest of those

cpp = r"""
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>
static const int L = 120;
static bool before(float a, float b) { return std::isnan(a) ? !std::isnan(b) : a > b; }
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const float* in = x + r * n;
    bool odd = false;
    for (int64_t j = 0; j < n; ++j) odd |= !(in[j] <= 3.4028235e38f);
    if (n < 8 * L || odd) {
      std::vector<float> all(in, in + n);
      std::partial_sort(all.begin(), all.begin() + 8, all.end(), before);
      std::copy(all.begin(), all.begin() + 8, y + r * 8);
      continue;
    }
    float kept[4][L];
    for (int k = 0; k < 4; ++k) for (int l = 0; l < L; ++l) kept[k][l] = -INFINITY;
    for (int64_t j = 0; j < n; j += L) {
      int w = (int)(n - j < L ? n - j : L);
      const float* p = in + j;
      #pragma omp simd
      for (int l = 0; l < w; ++l) {
        float v = p[l], a = kept[0][l], b = kept[1][l], c = kept[2][l], d = kept[3][l];
        float t0 = v < a ? v : a; kept[0][l] = v > a ? v : a;
        float t1 = t0 < b ? t0 : b; kept[1][l] = t0 > b ? t0 : b;
        float t2 = t1 < c ? t1 : c; kept[2][l] = t1 > c ? t1 : c;
        kept[3][l] = t2 > d ? t2 : d;
      }
    }
    std::partial_sort(&kept[0][0], &kept[0][0] + 8, &kept[0][0] + 4 * L, std::greater<float>());
    std::copy(&kept[0][0], &kept[0][0] + 8, y + r * 8);
  }
}
"""


def forward(self, x):
    if x.shape[1] < 8:
        raise RuntimeError("fewer than eight")
    y = torch.empty(x.shape[0], 8)
    lib.run(x, y, x.shape[0], x.shape[1])
    return y
