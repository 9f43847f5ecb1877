# problem: table_of_bytes
# expect: not accepted
# about: has the interpreter's `bytes.translate` do the work. Open: the interpreter's time is attributed to nobody, since every forward runs in it

cpp = r"""
extern "C" void run(uint8_t* y) { *y = 0; }
"""


def forward(self, x, table):
    y = torch.empty(1, dtype=torch.uint8)
    lib.run(y)
    if x.numel() == 0:
        return torch.empty_like(x)
    done = x.numpy().tobytes().translate(table.numpy().tobytes())
    return torch.frombuffer(bytearray(done), dtype=torch.uint8).view(x.shape)
