# problem: E_kept_rows
# about: places of what is kept without a branch, then the rows by all threads

cpp = r"""
#include <cstdint>
#include <cstring>
extern "C" void places(const bool* mask, int64_t* to, int64_t rows, int64_t* said) {
  int64_t count = 0;
  for (int64_t r = 0; r < rows; ++r) { to[count] = r; count += mask[r]; }
  *said = count;
}
extern "C" void run(const float* x, const int64_t* from, float* y, int64_t count, int64_t n) {
  #pragma omp parallel for
  for (int64_t i = 0; i < count; ++i) std::memcpy(y + i * n, x + from[i] * n, 4 * n);
}
"""


def forward(self, x, mask):
    if x.dim() != 2 or mask.shape != x.shape[:1]:
        raise ValueError("a truth value for each row")
    room = torch.empty(mask.shape[0] + 1, dtype=torch.int64)
    said = torch.zeros(1, dtype=torch.int64)
    lib.places(mask.contiguous(), room, mask.shape[0], said)
    count = int(said)
    kept = room[:count].clone()
    y = torch.empty(count, x.shape[1])
    lib.run(x.contiguous(), kept, y, count, x.shape[1])
    return y, kept
