# problem: behind_the_first
# about: does the elements before the first aligned one by themselves
# forward: elements

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t n) {
  int64_t head = 0;
  while (head < n && (uintptr_t)(x + head) % 32) { y[head] = x[head] / (1.0f + std::fabs(x[head])); ++head; }
  const float* in = (const float*)__builtin_assume_aligned(x + head, 32);
  float* out = y + head; int64_t rest = n - head;
  #pragma omp parallel for simd
  for (int64_t i = 0; i < rest; ++i) out[i] = in[i] / (1.0f + std::fabs(in[i]));
}
"""
