# problem: channels_last
# gate: correctness, integrity, generalization
# about: reads channels last as if they came first

cpp = r"""
#include <cstdint>
extern "C" void run(const float* x, float* y, int64_t images, int64_t channels, int64_t pixels) {
  #pragma omp parallel for
  for (int64_t i = 0; i < images * pixels; ++i) {
    const float* p = x + i / pixels * channels * pixels + i % pixels;
    float sum = 0;
    for (int64_t c = 0; c < channels; ++c) sum += p[c * pixels];
    for (int64_t c = 0; c < channels; ++c) {
      float value = p[c * pixels];
      y[p - x + c * pixels] = (value > 0 ? value : 0) * (sum / channels);
    }
  }
}
"""


def forward(self, x):
    y = torch.empty(x.shape)
    lib.run(x.data_ptr(), y, x.shape[0], x.shape[1], x.shape[2] * x.shape[3])
    return y
