# problem: softmax
# about: rows in pieces by its own kernel, and a partial result that PyTorch finishes

cpp = r"""
#include <cmath>
#include <cstdint>
extern "C" void softmax(const float* x, float* y, int64_t rows, int64_t n) {
  for (int64_t r = 0; r < rows; ++r) {
    const float* in = x + r * n;
    float top = in[0], sum = 0.0f;
    for (int64_t i = 1; i < n; ++i) top = std::fmax(top, in[i]);
    for (int64_t i = 0; i < n; ++i) sum += y[r * n + i] = std::exp(in[i] - top);
    for (int64_t i = 0; i < n; ++i) y[r * n + i] /= sum;
  }
}
"""


def own(x):
    y = torch.empty_like(x)
    lib.softmax(x, y, x.shape[0], x.shape[1])
    return y


def forward(self, x):
    y = torch.empty_like(x)
    for source, target in zip(x.split(64), y.split(64)):
        lib.softmax(source, target, source.shape[0], source.shape[1])
    return y
