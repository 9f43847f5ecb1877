# problem: silu
# about: starts and joins std::thread for each call
# given: exponential
# forward: elements

cpp = r"""
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>
extern "C" void run(const float* x, float* y, int64_t n) {
  auto part = [=](int64_t from, int64_t to) { for (int64_t i = from; i < to; ++i) y[i] = x[i] / (1.0f + ex(-x[i])); };
  unsigned count = std::min(4u, std::max(1u, std::thread::hardware_concurrency()));
  std::vector<std::thread> others;
  for (unsigned t = 1; t < count; ++t) others.emplace_back(part, n * t / count, n * (t + 1) / count);
  part(0, n / count);
  for (auto& one : others) one.join();
}
"""
