# problem: silu
# about: a thread of its own waits on a condition variable between calls
import kernelwright_rt
import torch

lib = kernelwright_rt.compile_cpp(r"""
#include <cmath>
#include <cstdint>
#include <cstring>
static inline float ex(float v) {
  float given = v; v = std::fmin(std::fmax(v, -87.0f), 88.0f) * 1.44269504f;
  float k = std::nearbyint(v), f = (v - k) * 0.69314718f;
  float p = 1.0f + f * (1.0f + f * (0.5f + f * (0.16666667f + f * (0.041666668f + f * (0.0083333f + f * 0.0013889f)))));
  int32_t b = ((int32_t)k + 127) << 23; float s; std::memcpy(&s, &b, 4); return given > 88.0f ? INFINITY : p * s;
}

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
""")


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        lib.run(x, y, x.shape[0], x.shape[1])
        return y
