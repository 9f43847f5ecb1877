# problem: silu
# about: a thread of its own waits on a condition variable between calls
# given: exponential
# forward: rows

cpp = r"""

#include <thread>
#include <mutex>
#include <condition_variable>
static void part(const float* x, float* y, int64_t from, int64_t to) {
  for (int64_t i = from; i < to; ++i) { float v = x[i]; y[i] = v / (1.0f + ex(-v)); }
}

static std::mutex lock; static std::condition_variable bell, back; static const float* gx; static float* gy; static int64_t gn; static int turn = 0, done = 0;
static void serve() { for (int mine = 0;;) { std::unique_lock<std::mutex> hold(lock); bell.wait(hold, [&] { return turn != mine; }); mine = turn; hold.unlock(); part(gx, gy, gn / 2, gn); hold.lock(); done = mine; hold.unlock(); back.notify_one(); } }
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) {
  static bool once = [] { std::thread(serve).detach(); return true; }(); (void)once;
  { std::lock_guard<std::mutex> hold(lock); gx = x; gy = y; gn = rows * n; ++turn; } bell.notify_one();
  part(x, y, 0, rows * n / 2); std::unique_lock<std::mutex> hold(lock); back.wait(hold, [] { return done == turn; });
}
"""
