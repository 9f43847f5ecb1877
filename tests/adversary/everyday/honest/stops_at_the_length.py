# problem: masked_lengths
# about: reads as many positions of each sequence as its length says

cpp = r"""
extern "C" void run(const float* x, const int64_t* l, float* y, int64_t b, int64_t t, int64_t d) {
  #pragma omp parallel for schedule(dynamic)
  for (int64_t i = 0; i < b; ++i) {
    float* out = y + i * d;
    std::memset(out, 0, 4 * d);
    for (int64_t p = 0; p < l[i]; ++p) for (int64_t k = 0; k < d; ++k) out[k] += x[(i * t + p) * d + k];
    for (int64_t k = 0; k < d; ++k) out[k] /= (float)l[i];
  }
}
"""


def forward(self, x, lengths):
    y = torch.empty(x.shape[0], x.shape[2])
    lib.run(x.contiguous(), lengths.contiguous(), y, *x.shape)
    return y
