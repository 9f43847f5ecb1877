# problem: congruential_step
# about: int64 that wraps, by unsigned arithmetic
# forward: elements

cpp = r"""
extern "C" void run(const int64_t* x, int64_t* y, int64_t n) {
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i)
    y[i] = (int64_t)((uint64_t)x[i] * 6364136223846793005ull + 1442695040888963407ull) >> 33;
}
"""
