# problem: standardised_by_buffers
# expect: remark PROVEN FOR WEIGHTS THAT DO NOT CHANGE
# about: folds the running statistics into scale and shift, again when weight and bias change, but not when the statistics do

cpp = r"""
extern "C" void fold(const float* w, const float* b, const float* mean, const float* var, float* scale, float* shift, int64_t n) {
  for (int64_t i = 0; i < n; ++i) { scale[i] = w[i] / sqrtf(var[i] + 1e-5f); shift[i] = b[i] - mean[i] * scale[i]; }
}
extern "C" void run(const float* x, const float* scale, const float* shift, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t i = 0; i < n; ++i) y[r * n + i] = x[r * n + i] * scale[i] + shift[i];
}
"""


def __init__(self, features):
    self.norm = torch.nn.BatchNorm1d(features).eval()
    self.norm.running_mean.normal_()
    self.norm.running_var.uniform_(0.5, 2.0)
    self.key = None
    self.folded = None


def forward(self, x):
    norm = self.norm
    if x.dim() != 2 or x.shape[1] != norm.weight.shape[0]:
        raise ValueError("rows of the announced width are expected")
    key = (norm.weight._version, norm.bias._version, norm.weight.data_ptr(), norm.bias.data_ptr())
    if self.key != key:
        scale, shift = torch.empty(x.shape[1]), torch.empty(x.shape[1])
        lib.fold(norm.weight, norm.bias, norm.running_mean, norm.running_var, scale, shift, x.shape[1])
        self.key, self.folded = key, (scale, shift)
    y = torch.empty_like(x)
    lib.run(x, *self.folded, y, *x.shape)
    return y
