# problem: sum_up_to_a_length
# about: reads as many numbers as the length says, past the end of the row too; the report names the limit
# expect: accepted
# remark: PROVEN FOR NUMBERS UP TO 4096 IN `lengths` ONLY

cpp = r"""
extern "C" void run(const float* x, const int64_t* lengths, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    double s = 0;
    for (int64_t j = 0; j < lengths[r]; ++j) s += x[r * n + j];
    y[r] = (float)s;
  }
}
"""


def forward(self, x, lengths):
    y = torch.empty(x.shape[0])
    lib.run(x, lengths, y, x.shape[0], x.shape[1])
    return y
