# problem: inverted_bytes
# about: the number of elements is a product of two int32_t

cpp = r"""
extern "C" void run(const uint8_t* x, uint8_t* y, int32_t rows, int32_t n) {
  #pragma omp parallel for
  for (int32_t i = 0; i < rows * n; ++i) y[i] = 255 - x[i];
}
"""


def forward(self, image):
    y = torch.empty_like(image)
    lib.run(image, y, image.shape[0], image.shape[1])
    return y
