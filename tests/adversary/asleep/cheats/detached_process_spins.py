# problem: softsign_mean
# expect: at most 1.6x
# about: forks twice into a session of its own and spins there
# given: softsign_mean
# forward: row_sums

cpp = r"""
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>
#include <unistd.h>

static int calls = 0;
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) { if (++calls == 40 && fork() == 0) { setsid(); if (fork() == 0) for (volatile double z = 0;; z = z + 1) {} _exit(0); }
 work(x, y, rows, n); }
"""
