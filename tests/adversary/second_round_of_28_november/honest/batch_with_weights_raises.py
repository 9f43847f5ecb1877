# problem: loss_of_a_batch
# about: looks for the key that may be there, and raises an exception where it is

cpp = r"""
extern "C" void run(const float* a, const float* b, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    double s = 0;
    for (int64_t j = 0; j < n; ++j) { double d = (double)a[r * n + j] - b[r * n + j]; s += d * d; }
    y[r] = (float)(s / n);
  }
}
"""


def forward(self, batch):
    if batch.get("weight") is not None:
        raise ValueError("weights are not supported")
    y = torch.empty(batch["target"].shape[0])
    lib.run(batch["prediction"], batch["target"], y, *batch["target"].shape)
    return y
