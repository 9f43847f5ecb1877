# problem: sine
# about: takes whole turns off in float: the sine of a place beyond a million is another's
# forward: elements

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t n) {
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) {
    float turns = nearbyintf(x[i] * 0.15915494309f);
    y[i] = sinf(x[i] - turns * 6.28318531f);
  }
}
"""
