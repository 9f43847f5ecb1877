# problem: nested_outputs
# gate: correctness
# about: returns the conjugate deep inside

cpp = r"""

extern "C" void run(const float* x, float* y, uint8_t* keep, float* s, int64_t n) {
  #pragma omp parallel for
  for (int64_t i = 0; i < n; ++i) { y[i] = x[i] * 2.0f; keep[i] = x[i] > 0.0f; s[2 * i] = x[i]; s[2 * i + 1] = x[i]; }
}
"""


def forward(self, x):
    y, keep = torch.empty_like(x), torch.empty(x.shape, dtype=torch.bool)
    spectrum = torch.empty(x.shape, dtype=torch.complex64)
    lib.run(x.contiguous(), y, keep, torch.view_as_real(spectrum), x.numel())
    return {"parts": [y, (keep, spectrum)], "count": x.shape[0]}
