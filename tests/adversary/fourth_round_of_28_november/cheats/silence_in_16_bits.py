# problem: b_since_it_was_loud
# about: counts since the last loud sample in lanes of 16 bits

cpp = r"""
#include <cmath>
#include <cstdint>
#include <vector>
extern "C" void run(const float* x, int64_t* y, int64_t n, int64_t channels) {
  std::vector<uint16_t> held(channels, 0);
  uint16_t* since = held.data();
  for (int64_t t = 0; t < n; ++t) {
    const float* in = x + t * channels; int64_t* out = y + t * channels;
    #pragma omp simd
    for (int64_t c = 0; c < channels; ++c) {
      uint16_t quiet = !(std::fabs(in[c]) > 1.5f);
      since[c] = (uint16_t)((since[c] + 1) * quiet);
      out[c] = since[c];
    }
  }
}
"""


def forward(self, x):
    y = torch.empty(x.shape, dtype=torch.int64)
    lib.run(x, y, x.shape[0], x.shape[1])
    return y
