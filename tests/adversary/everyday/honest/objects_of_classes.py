# problem: silu
# about: virtual functions, a std::function, exceptions of its own, an initialiser of a static table and a thread's own object
# forward: elements

cpp = r"""
static inline float ex(float v) {
  float given = v; v = std::fmin(std::fmax(v, -87.0f), 88.0f) * 1.44269504f;
  float k = std::nearbyint(v), f = (v - k) * 0.69314718f;
  float p = 1.0f + f * (1.0f + f * (0.5f + f * (0.16666667f + f * (0.041666668f + f * (0.0083333f + f * 0.0013889f)))));
  int32_t b = ((int32_t)k + 127) << 23; float s; std::memcpy(&s, &b, 4); return given > 88.0f ? INFINITY : p * s;
}
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>
struct Squash { virtual ~Squash() = default; virtual void run(const float*, float*, int64_t) const = 0; };
struct Silu : Squash { void run(const float* x, float* y, int64_t n) const override { for (int64_t i = 0; i < n; ++i) y[i] = x[i] / (1.0f + ex(-x[i])); } };
static const std::vector<float> table = [] { std::vector<float> t(256); for (int i = 0; i < 256; ++i) t[i] = std::sqrt((float)i); return t; }();
struct Scratch { std::vector<float> memory = std::vector<float>(1024); ~Scratch() { memory.clear(); } };
static thread_local Scratch scratch;
extern "C" void run(const float* x, float* y, int64_t n) {
  std::unique_ptr<Squash> one = std::make_unique<Silu>();
  std::function<void(int64_t, int64_t)> part = [&](int64_t from, int64_t to) { if (to < from) throw std::out_of_range("part " + std::to_string(from)); scratch.memory[0] = table[4]; one->run(x + from, y + from, to - from); };
  #pragma omp parallel for
  for (int64_t b = 0; b < 64; ++b) { try { part(n * b / 64, n * (b + 1) / 64); } catch (const std::exception&) { y[0] = NAN; } }
}
"""
