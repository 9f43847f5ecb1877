# problem: tail
# about: an exponential times a polynomial, whose error is a share of the tail itself (1.2e-7)
# forward: elements

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t n) {
  #pragma omp parallel for
  for (int64_t i = 0; i < n; ++i) {
    const double z = fabs((double)x[i]), t = 1.0 / (1.0 + 0.5 * z);
    const double e = t * exp(-z * z - 1.26551223 + t * (1.00002368 + t * (0.37409196 + t * (0.09678418 + t * (-0.18628806 +
      t * (0.27886807 + t * (-1.13520398 + t * (1.48851587 + t * (-0.82215223 + t * 0.17087277)))))))));
    y[i] = (float)(x[i] >= 0.0f ? e : 2.0 - e);
  }
}
"""
