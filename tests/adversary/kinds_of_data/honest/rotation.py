# problem: rotation
# about: turns complex numbers part by part

cpp = r"""

extern "C" void run(const float* x, const float* phases, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) for (int64_t i = 0; i < n; ++i) { float c = std::cos(phases[i]), s = std::sin(phases[i]);
    float a = x[2 * (r * n + i)], b = x[2 * (r * n + i) + 1]; y[2 * (r * n + i)] = a * c - b * s; y[2 * (r * n + i) + 1] = a * s + b * c; }
}
"""


def forward(self, x, phases):
    y = torch.empty_like(x)
    lib.run(torch.view_as_real(x.contiguous()), phases.contiguous(), torch.view_as_real(y), x.shape[0], x.shape[1])
    return y
