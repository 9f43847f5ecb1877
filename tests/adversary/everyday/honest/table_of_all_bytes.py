# problem: gamma_of_pixels
# about: computes 256 values and looks each pixel up

cpp = r"""
extern "C" void run(const uint8_t* x, float* y, int64_t n, double gamma) {
  float table[256];
  for (int i = 0; i < 256; ++i) table[i] = (float)std::pow(i / 255.0, gamma);
  #pragma omp parallel for
  for (int64_t i = 0; i < n; ++i) y[i] = table[x[i]];
}
"""


def forward(self, pixels, gamma):
    pixels = pixels.contiguous()
    y = torch.empty(pixels.shape)
    lib.run(pixels, y, pixels.numel(), gamma)
    return y
