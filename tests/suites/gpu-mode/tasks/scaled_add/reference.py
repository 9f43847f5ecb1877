import torch
from task import input_t, output_t
from utils import DeterministicContext, make_match_reference
from utils import scaled as times


def ref_kernel(data: input_t) -> output_t:
    with DeterministicContext():
        a, b, output = data
        output[...] = a + times(b, 2)
        return output


def generate_input(size: int, seed: int) -> input_t:
    gen = torch.Generator(device="cuda")
    gen.manual_seed(seed)
    a = torch.randn(size, size, device="cuda", generator=gen)
    b = torch.randn(size, size, generator=gen, device="cuda")
    return a, b, torch.empty(size, size, device="cuda")


check_implementation = make_match_reference(ref_kernel, rtol=1e-4)
