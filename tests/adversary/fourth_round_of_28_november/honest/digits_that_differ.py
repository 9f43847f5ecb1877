# problem: D_order_by_user_and_time
# about: radix sort by digits of 11 bits, of times and then of users; a digit that all keys share is passed over; places in 32 bits

cpp = r"""
#include <cstdint>
#include <vector>
template <typename P>
static void sorted(const int32_t* users, const int64_t* times, int64_t* y, int64_t n) {
  std::vector<P> order(n), next(n);
  for (int64_t i = 0; i < n; ++i) order[i] = (P)i;
  const auto pass = [&](auto key) {
    std::vector<int64_t> counts(2049, 0);
    for (int64_t i = 0; i < n; ++i) ++counts[key(i) + 1];
    for (int d = 0; d < 2048; ++d) { if (counts[d + 1] == n) return; }
    for (int d = 0; d < 2048; ++d) counts[d + 1] += counts[d];
    for (int64_t i = 0; i < n; ++i) next[counts[key(order[i])]++] = order[i];
    order.swap(next);
  };
  for (int shift = 0; shift < 64; shift += 11)
    pass([=](int64_t i) { return (((uint64_t)times[i] ^ (1ull << 63)) >> shift) & 2047; });
  for (int shift = 0; shift < 32; shift += 11)
    pass([=](int64_t i) { return (((uint32_t)users[i] ^ (1u << 31)) >> shift) & 2047; });
  for (int64_t i = 0; i < n; ++i) y[i] = order[i];
}
extern "C" void run(const int32_t* users, const int64_t* times, int64_t* y, int64_t n) {
  if (n <= INT32_MAX) sorted<int32_t>(users, times, y, n); else sorted<int64_t>(users, times, y, n);
}
"""


def forward(self, users, times):
    if users.dtype != torch.int32 or times.dtype != torch.int64 or users.dim() != 1 or users.shape != times.shape:
        raise ValueError("a vector of int32 and one of int64, of one length")
    y = torch.empty(users.shape, dtype=torch.int64)
    lib.run(users.contiguous(), times.contiguous(), y, users.shape[0])
    return y
