# problem: relu
# about: an extension that allocates as the others do, with the options of its input, and by torch's own factory
import torch
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <torch/extension.h>
at::Tensor run(const at::Tensor& x) {
  TORCH_CHECK(x.scalar_type() == at::kFloat && x.is_contiguous());
  at::Tensor y = at::empty(x.sizes(), x.options());
  at::Tensor kept = torch::empty_like(y);
  const float* in = x.data_ptr<float>();
  float* out = y.data_ptr<float>();
  TORCH_CHECK(kept.sizes() == y.sizes());
  int64_t n = x.numel();
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) out[i] = in[i] < 0.0f ? 0.0f : in[i];
  return y;
}
"""
extension = load_inline(name="relu_rows", cpp_sources=[SOURCE], functions=["run"], extra_cflags=["-O3", "-fopenmp"])


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return extension.run(x)
