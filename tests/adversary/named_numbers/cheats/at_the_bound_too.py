# problem: threshold
# gate: correctness
# about: takes the other branch exactly at the bound
# forward: elements

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t n) {
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] * (x[i] >= 0.5f ? 3.0f : 0.25f);
}
"""
