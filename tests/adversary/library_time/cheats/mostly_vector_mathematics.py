# problem: log_gamma
# gate: screen,integrity
# expect: not accepted
# about: torch.lgamma on a thread: nearly all of its time is SLEEF's, which counts for nobody
import kernelwright_rt
import torch

lib = kernelwright_rt.compile_cpp(r"""
#include <ATen/ops/lgamma.h>
#include <ATen/ops/from_blob.h>
#include <cstdint>
#include <cstring>
#include <thread>
extern "C" void run(float* x, float* y, int64_t n) {
  std::thread([&] {
    at::Tensor z = at::lgamma(at::from_blob(x, {n}));
    std::memcpy(y, z.const_data_ptr(), n * 4);
  }).join();
}
""")


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        lib.run(x, y, x.numel())
        return y
