# problem: b_order_of_names
# about: sorts names by their first sixteen bytes, as one key

cpp = r"""
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>
struct Name { uint64_t high, low; int64_t place; };
extern "C" void run(const uint8_t* names, int64_t* y, int64_t n, int64_t width) {
  std::vector<Name> all(n);
  for (int64_t i = 0; i < n; ++i) {
    uint64_t key[2] = {0, 0};
    if (width) memcpy(key, names + i * width, width < 16 ? width : 16);
    all[i] = {__builtin_bswap64(key[0]), __builtin_bswap64(key[1]), i};
  }
  std::sort(all.begin(), all.end(), [](const Name& a, const Name& b) {
    if (a.high != b.high) return a.high < b.high;
    if (a.low != b.low) return a.low < b.low;
    return a.place < b.place;
  });
  for (int64_t i = 0; i < n; ++i) y[i] = all[i].place;
}
"""


def forward(self, names):
    y = torch.empty(names.shape[0], dtype=torch.int64)
    lib.run(names, y, names.shape[0], names.shape[1])
    return y
