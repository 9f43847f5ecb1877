# problem: loss_of_pixels
# about: sixty-four pixels at a time, classes in the outer loop, so that reads are dense; refuses labels out of range

cpp = r"""
extern "C" void run(const float* x, const int64_t* labels, float* y, int64_t batch, int64_t kinds, int64_t plane, int32_t* said) {
  double total = 0; int64_t count = 0; int32_t bad = 0;
  #pragma omp parallel for collapse(2) reduction(+ : total, count) reduction(| : bad)
  for (int64_t b = 0; b < batch; ++b) for (int64_t p = 0; p < plane; p += 64) {
    const float* in = x + b * kinds * plane + p; const int64_t n = plane - p < 64 ? plane - p : 64;
    float top[64], sum[64] = {};
    for (int64_t i = 0; i < n; ++i) top[i] = -INFINITY;
    for (int64_t c = 0; c < kinds; ++c) for (int64_t i = 0; i < n; ++i) top[i] = in[c * plane + i] > top[i] ? in[c * plane + i] : top[i];
    for (int64_t c = 0; c < kinds; ++c) for (int64_t i = 0; i < n; ++i) sum[i] += std::exp(in[c * plane + i] - top[i]);
    for (int64_t i = 0; i < n; ++i) {
      const int64_t label = labels[b * plane + p + i];
      if (label == 255) continue;
      if (label < 0 || label >= kinds) { bad |= 1; continue; }
      total += std::log(sum[i]) - (in[label * plane + i] - top[i]); ++count;
    }
  }
  *y = (float)(total / count); *said = bad;
}
"""


def forward(self, logits, labels):
    if logits.dim() < 2 or labels.shape != (logits.shape[0], *logits.shape[2:]) or labels.dtype != torch.int64:
        raise ValueError("limited to a label for each pixel")
    batch, kinds = logits.shape[:2]
    plane = labels[0].numel() if batch else 0
    y, said = torch.empty(()), torch.zeros(1, dtype=torch.int32)
    lib.run(logits.contiguous(), labels.contiguous(), y, batch, kinds, plane, said)
    if said.item():
        raise IndexError("label out of range")
    return y
