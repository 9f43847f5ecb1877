# problem: E_order_of_floats
# about: radix sort of 11 bits three times; keys take both zeros for one and put NaN last; scratch by thread

cpp = r"""
#include <cstdint>
#include <cstring>
#include <vector>
extern "C" void run(const float* x, float* y, int64_t* places, int64_t rows, int64_t n) {
  #pragma omp parallel
  {
    static thread_local std::vector<uint32_t> keys, at, other;
    keys.resize(n); at.resize(n); other.resize(n);
    #pragma omp for schedule(dynamic)
    for (int64_t r = 0; r < rows; ++r) {
      const float* own = x + r * n; uint32_t count[3][2048] = {};
      for (int64_t i = 0; i < n; ++i) {
        const float v = own[i] + 0.0f; uint32_t b; std::memcpy(&b, &v, 4);
        b = v != v ? 0xFFFFFFFFu : (b & 0x80000000u) ? ~b : b | 0x80000000u;
        keys[i] = b; at[i] = (uint32_t)i; ++count[0][b & 2047]; ++count[1][(b >> 11) & 2047]; ++count[2][b >> 22];
      }
      for (int p = 0; p < 3; ++p) {
        uint32_t sum = 0;
        for (int k = 0; k < 2048; ++k) { const uint32_t c = count[p][k]; count[p][k] = sum; sum += c; }
        for (int64_t i = 0; i < n; ++i) { const uint32_t b = keys[at[i]]; other[count[p][p == 2 ? b >> 22 : (b >> (11 * p)) & 2047]++] = at[i]; }
        at.swap(other);
      }
      for (int64_t i = 0; i < n; ++i) { y[r * n + i] = own[at[i]]; places[r * n + i] = at[i]; }
    }
  }
}
"""


def forward(self, x):
    if x.dim() != 2 or x.shape[1] >= 2**32:
        raise ValueError("limited to matrices")
    y, places = torch.empty(x.shape), torch.empty(x.shape, dtype=torch.int64)
    lib.run(x.contiguous(), y, places, *x.shape)
    return y, places
