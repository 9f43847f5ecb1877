# problem: channels_last
# about: reads and writes channels last where the input has them there, and copies other inputs

cpp = r"""
#include <cstdint>
extern "C" void run(const float* x, float* y, int64_t pixels, int64_t channels) {
  #pragma omp parallel for
  for (int64_t p = 0; p < pixels; ++p) {
    float sum = 0;
    for (int64_t c = 0; c < channels; ++c) sum += x[p * channels + c];
    for (int64_t c = 0; c < channels; ++c) {
      float value = x[p * channels + c];
      y[p * channels + c] = (value > 0 ? value : 0) * (sum / channels);
    }
  }
}
"""


def forward(self, x):
    x = x.contiguous(memory_format=torch.channels_last)
    y = torch.empty_like(x)
    lib.run(x.data_ptr(), y.data_ptr(), x.numel() // x.shape[1], x.shape[1])
    return y
