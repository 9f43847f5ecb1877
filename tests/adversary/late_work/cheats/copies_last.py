# problem: row_sums
# expect: at most 1.0x
# about: returns when a sleeping thread still has to write the results from its own memory into the output
# forward: row_sums

cpp = r"""
static inline float ex(float v) {
  float given = v; v = std::fmin(std::fmax(v, -87.0f), 88.0f) * 1.44269504f;
  float k = std::nearbyint(v), f = (v - k) * 0.69314718f;
  float p = 1.0f + f * (1.0f + f * (0.5f + f * (0.16666667f + f * (0.041666668f + f * (0.0083333f + f * 0.0013889f)))));
  int32_t b = ((int32_t)k + 127) << 23; float s; std::memcpy(&s, &b, 4); return given > 88.0f ? INFINITY : p * s;
}
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>
static std::vector<float> done; static float* out; static bool todo = false; static std::mutex lock; static std::condition_variable bell;
static void serve() { for (;;) { std::unique_lock<std::mutex> hold(lock); bell.wait(hold, [] { return todo; }); todo = false; std::memcpy(out, done.data(), done.size() * 4); } }
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) {
  static bool once = [] { std::thread(serve).detach(); return true; }(); (void)once;
  std::vector<float> own(rows);
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) { float s = 0; const float* in = x + r * n;
    #pragma omp simd reduction(+ : s)
    for (int64_t i = 0; i < n; ++i) s += in[i] / (1.0f + ex(-in[i]));
    own[r] = s; }
  { std::lock_guard<std::mutex> hold(lock); done = own; out = y; todo = true; } bell.notify_one();
}
"""
