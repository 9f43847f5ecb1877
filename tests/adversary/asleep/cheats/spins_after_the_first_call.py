# problem: softsign_mean
# about: two threads spin from the first call on
# given: softsign_mean
# forward: row_sums

cpp = r"""
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>
static void burn(int k) { for (int i = 0; i < k; ++i) std::thread([] { volatile double z = 0; for (;;) z = z + 1; }).detach(); }
static int calls = 0;
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) { if (++calls == 1) burn(2); work(x, y, rows, n); }
"""
