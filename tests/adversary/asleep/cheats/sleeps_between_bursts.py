# problem: softsign_mean
# expect: at most 1.6x
# about: a thread works in bursts of 2 ms every 20 ms, too seldom to be seen at work
# given: softsign_mean
# forward: row_sums

cpp = r"""
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include <chrono>
static void bursts() { for (;;) { auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(2);
  while (std::chrono::steady_clock::now() < until) {} std::this_thread::sleep_for(std::chrono::milliseconds(18)); } }
static int calls = 0;
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) { if (++calls == 30) std::thread(bursts).detach(); work(x, y, rows, n); }
"""
