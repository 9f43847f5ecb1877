# problem: first_at_least
# about: searches with a sentinel in the last place of a copy of each row

cpp = r"""
#include <cmath>
#include <cstdint>
#include <vector>
extern "C" void run(const float* rows, const float* key, int64_t* place, int64_t count, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < count; ++r) {
    std::vector<float> a(rows + r * n, rows + r * n + n);
    const float k = key[r], last = a[n - 1];
    if (k != k) { place[r] = n; continue; }
    a[n - 1] = INFINITY;
    int64_t i = 0;
    while (!(a[i] >= k)) ++i;
    a[n - 1] = last;
    place[r] = i < n - 1 || last >= k ? i : n;
  }
}
"""


def forward(self, rows, key):
    if rows.dim() != 2 or key.shape != (rows.shape[0], 1) or not rows.shape[1]:
        raise ValueError("rows and a key for each are expected")
    place = torch.empty(rows.shape[0], dtype=torch.long)
    lib.run(rows, key, place, *rows.shape)
    return place
