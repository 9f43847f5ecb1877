# problem: silu_of_sum
# about: asks for gradients, for OpenMP's variable and for its module's name, and is right whatever it is told
# imports: logging, os, kernelwright_rt, torch

cpp = r"""
extern "C" void run(const float* x, const float* y, float* z, int64_t n, int64_t threads) {
  #pragma omp parallel for simd num_threads(threads)
  for (int64_t i = 0; i < n; ++i) { const float s = x[i] + y[i]; z[i] = s / (1.0f + expf(-s)); }
}
"""

log = logging.getLogger(__name__)


def forward(self, x, y):
    if torch.is_grad_enabled() and (x.requires_grad or y.requires_grad):
        raise NotImplementedError("inference only")
    x, y = x.detach(), y.detach()
    z = torch.empty_like(x)
    threads = int(os.environ.get("OMP_NUM_THREADS", torch.get_num_threads()))
    lib.run(x.contiguous(), y.contiguous(), z, z.numel(), max(1, threads))
    log.debug("%d elements", z.numel())
    return z
