# problem: batch_norm_of_rows
# about: normalises by the batch's statistics in training, and by the running ones in evaluation

cpp = r"""
extern "C" void run(const float* x, const float* w, const float* b, float* mean, float* var, float* y, int64_t rows, int64_t n, double momentum) {
  #pragma omp parallel for
  for (int64_t i = 0; i < n; ++i) {
    double sum = 0, squares = 0;
    for (int64_t r = 0; r < rows; ++r) sum += x[r * n + i];
    const double m = sum / rows;
    for (int64_t r = 0; r < rows; ++r) squares += (x[r * n + i] - m) * (x[r * n + i] - m);
    const double v = squares / rows;
    mean[i] = mean[i] * (1 - momentum) + m * momentum;
    var[i] = var[i] * (1 - momentum) + squares / (rows - 1) * momentum;
    const float s = w[i] / sqrt(v + 1e-5), c = b[i] - m * s;
    for (int64_t r = 0; r < rows; ++r) y[r * n + i] = x[r * n + i] * s + c;
  }
}
extern "C" void evaluate(const float* x, const float* w, const float* b, const float* mean, const float* var, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t i = 0; i < n; ++i) y[r * n + i] = (x[r * n + i] - mean[i]) / sqrtf(var[i] + 1e-5f) * w[i] + b[i];
}
extern "C" void count(int64_t* seen) { ++*seen; }
"""


def __init__(self, features):
    self.norm = torch.nn.BatchNorm1d(features)


def forward(self, x):
    y = torch.empty_like(x)
    norm = self.norm
    if not self.training and x.dim() == 2:
        lib.evaluate(x, norm.weight, norm.bias, norm.running_mean, norm.running_var, y, *x.shape)
        return y
    if x.dim() != 2 or x.shape[0] < 2:
        raise ValueError("several rows are expected")
    lib.run(x, norm.weight, norm.bias, norm.running_mean, norm.running_var, y, *x.shape, 0.1)
    lib.count(norm.num_batches_tracked)
    return y
