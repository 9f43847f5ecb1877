# problem: tone_curve
# about: a power by the logarithm to the base of two
# forward: elements

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t n) {
  #pragma omp parallel for
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] > 0.0f ? exp2f(log2f(x[i]) * (1 / 2.2f)) : powf(x[i], 1 / 2.2f);
}
"""
