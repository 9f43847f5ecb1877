# problem: sine
# about: takes half turns off in three parts with fused products, exact up to 1e5, and leaves what is larger to the library
# forward: elements

cpp = r"""
static inline float sine(float x) {
  if (fabsf(x) > 50000.0f) return sinf(x);
  const float n = nearbyintf(x * 0.318309886f);
  float r = fmaf(n, -3.140625f, x);
  r = fmaf(n, -9.67502593994140625e-4f, r);
  r = fmaf(n, -1.50995799097e-7f, r);
  const float s = r * r;
  const float p = fmaf(r * s, fmaf(s, fmaf(s, fmaf(s, 2.6083159809786593e-6f, -1.981069071916863e-4f), 8.33307858556509e-3f), -1.666665971279144e-1f), r);
  return ((int)n & 1) ? -p : p;
}
extern "C" void run(const float* x, float* y, int64_t n) {
  #pragma omp parallel for
  for (int64_t i = 0; i < n; ++i) y[i] = sine(x[i]);
}
"""
