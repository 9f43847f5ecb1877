"""The calls of README-C.md that go wrong: python -m tests.adversary.fourth_round_of_28_november.calls_C [NAME …]

`scratch_for_64_sizes` ends the process by SIGSEGV, so it is run only where it is named.
"""

import sys
import tempfile
from pathlib import Path
from typing import Any

import torch

from tests.adversary.designs import designs

HERE = "fourth_round_of_28_november"
ALL = [*designs("cheats", HERE), *designs("open", HERE)]


def both(name: str, *settings: Any) -> tuple[Any, Any]:
    """The reference and the candidate with the same parameters."""
    design = next(one for one in ALL if one.name == name)
    spaces = []
    for text in (design.problem.read_text(), design.source):
        file = Path(tempfile.mkdtemp()) / "one.py"
        file.write_text(text)
        space: dict[str, Any] = {"__name__": "one", "__file__": str(file)}
        exec(compile(text, file, "exec"), space)
        spaces.append(space)
    torch.manual_seed(0)
    right, wrong = spaces[0]["Model"](*settings), spaces[1]["ModelNew"](*settings)
    wrong.load_state_dict(right.state_dict())
    return right, wrong


def write(text: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def say(what: str, got: Any, wanted: Any) -> None:
    """Print what a call gives, and what it should."""
    got, wanted = got.detach(), wanted.detach()
    write(
        f"  {what}: {got}, not {wanted}; apart by {float((got - wanted).abs().max()):.3g}"
        if got.numel() < 9
        else f"  {what}: apart by {float((got - wanted).abs().max()):.3g} of {float(wanted.abs().max()):.3g}"
    )


def sixteen_taps_of_a_fading_average() -> None:
    models = both("sixteen_taps_of_a_fading_average", 64)
    x = torch.ones(1, 64, 128)
    say("as drawn", *(one(x) for one in models[::-1]))
    for one in models:
        with torch.no_grad():
            one.gate.fill_(4.0)
    say("gates of 4, ones: the last", *(one(x)[0, 0, -1:] for one in models[::-1]))


def no_maximum_beside_cosines() -> None:
    models = both("no_maximum_beside_cosines", 4)
    q = torch.randn(2, 4, 64, 32)
    say("as drawn", *(one(q, q, q) for one in models[::-1]))
    for one in models:
        with torch.no_grad():
            one.scale.fill_(4.6)
    say("scales of 4.6, model(q, q, q)", *(one(q, q, q)[0, 0, 0, :3] for one in models[::-1]))


def settles_in_fourteen() -> None:
    models = both("settles_in_fourteen", 64)
    x = torch.full((4, 64), 1e-3)
    say("as drawn", *(one(torch.randn(256, 64, generator=torch.manual_seed(1))) for one in models[::-1]))
    for one in models:
        with torch.no_grad():
            one.weight.copy_(torch.ones(64, 64) + 0.1 * torch.randn(64, 64, generator=torch.manual_seed(1)))
    say("a weight of nearly one rank, x 0.001", *(one(x)[0, :3] for one in models[::-1]))


def one_gradient_for_both() -> None:
    models = both("one_gradient_for_both", 4)
    found = []
    for one in models[::-1]:
        torch.manual_seed(1)
        x, z = (torch.nn.Parameter(torch.randn(2, 4)) for _ in range(2))
        (one(x, z) * torch.randn(2, 4) * 10).sum().backward()
        torch.nn.utils.clip_grad_norm_([x, z], 1.0)
        assert x.grad is not None
        found.append(x.grad.norm()[None])
    say("norm of x's gradient after clip_grad_norm_([x, z], 1.0)", *found)
    found = []
    for one in models[::-1]:
        torch.manual_seed(1)
        x, z = (torch.nn.Parameter(torch.randn(2, 4)) for _ in range(2))
        for _ in range(2):
            (one(x, z) * torch.ones(2, 4).cumsum(1)).sum().backward()
        assert x.grad is not None
        found.append(x.grad[0])
    say("x's gradient accumulated over two backwards", *found)


def divides_by_its_weight() -> None:
    models = both("divides_by_its_weight", 4)
    found = []
    for one in models[::-1]:
        with torch.no_grad():
            one.weight.zero_()
        torch.manual_seed(1)
        x, z = (torch.randn(2, 4, requires_grad=True) for _ in range(2))
        (one(x, z) * torch.ones(2, 4).cumsum(1)).sum().backward()
        found.append(one.weight.grad)
    say("weights of 0 (a branch that begins with nothing): the weight's gradient", *found)


def product_divided_by_each() -> None:
    models = both("product_divided_by_each")
    found = []
    for one in models[::-1]:
        x = torch.tensor([[0.0, 2.0, 3.0], [1.0, 2.0, 3.0]], requires_grad=True)
        one(x).sum().backward()
        found.append(x.grad)
    say("rows 0 2 3 and 1 2 3", *found)


def gradient_to_each_largest_of_four() -> None:
    models = both("gradient_to_each_largest_of_four")
    found = []
    for one in models[::-1]:
        x = torch.tensor([[[0.0, 0.0, 0.0, 0.0, 1.0, 3.0, 3.0, 2.0]]], requires_grad=True)
        one(x).sum().backward()
        found.append(x.grad)
    say("windows 0 0 0 0 (after a ReLU) and 1 3 3 2", *found)


def half_of_the_steps() -> None:
    models = both("half_of_the_steps")
    for rate in (10.0, 60.0, 80.0, 120.0):
        full = torch.full((4, 64), rate)
        say(f"rate {rate}, x 0, drive = rate", *(one(full * 0, full, full)[0, :2] for one in models[::-1]))


def variance_in_one_pass_of_a_step() -> None:
    models = both("variance_in_one_pass_of_a_step", 512)
    for mean in (0.0, 300.0, 1000.0):
        found = []
        for one in models[::-1]:
            x = (torch.randn(64, 512, generator=torch.Generator().manual_seed(1)) + mean).requires_grad_()
            y = one(x)
            y.backward(torch.randn(64, 512, generator=torch.Generator().manual_seed(2)))
            found.append((y.detach(), x.grad))
        say(f"mean {mean}: output", found[0][0], found[1][0])
        say(f"mean {mean}: gradient", found[0][1], found[1][1])


def states_found_backwards() -> None:
    models = both("states_found_backwards", 256)
    for gate in (2.0, 0.0, -2.0):
        found = []
        for one in models[::-1]:
            with torch.no_grad():
                one.gate.fill_(gate)
            one.gate.grad = None
            one(torch.randn(16, 128, 256, generator=torch.Generator().manual_seed(1))).sum().backward()
            found.append(one.gate.grad[:3])
        say(f"gates of {gate}", *found)


def scratch_for_64_sizes() -> None:
    _, wrong = both("scratch_for_64_sizes")
    for n in range(1, 4000):
        wrong(*(torch.rand(n) + 1 for _ in range(4)))
        if n % 50 == 0:
            write(f"  sizes stepped through: {n}")


def orthogonal_in_twelve() -> None:
    models = both("orthogonal_in_twelve", 256, 32)
    x = torch.randn(64, 256, generator=torch.Generator().manual_seed(1))
    say("as drawn", *(one(x) for one in models[::-1]))
    for by in (0.1, 0.01):
        for one in models:
            with torch.no_grad():
                one.weight[:, 0] *= by
        say(f"first column of the weight times {by}, once more", *(one(x)[0, :3] for one in models[::-1]))


def tokens_never_meet() -> None:
    models = both("tokens_never_meet", 50000, 16)
    tokens = torch.randint(0, 50000, (8, 64), generator=torch.Generator().manual_seed(1))
    padded = tokens.clone()
    padded[:, 16:] = 0
    for what, given in (("as drawn", tokens), ("three quarters padded with 0", padded)):
        worst, times = 0.0, 0
        for _ in range(20):
            found = []
            for one in models[::-1]:
                one.table.grad = None
                one(given).sum().backward()
                found.append(one.table.grad)
            apart = float((found[0] - found[1]).abs().max())
            worst, times = max(worst, apart), times + (apart > 0.5)
        write(f"  {what}: wrong {times} times of 20, by up to {worst:.3g} of {float(found[1].abs().max()):.3g}")


def by_address_in_a_step() -> None:
    models = both("by_address_in_a_step")
    x = torch.arange(12.0).view(3, 4)
    for what, given in (("dense", x), ("x.t()", x.t()), ("x[:, :2]", x[:, :2])):
        found = []
        for one in models[::-1]:
            leaf = given.detach().requires_grad_()
            y = one(leaf)
            y.sum().backward()
            assert leaf.grad is not None
            found.append((y.detach().flatten()[:6], leaf.grad.flatten()[:6]))
        say(f"{what}: output", found[0][0], found[1][0])
        say(f"{what}: gradient", found[0][1], found[1][1])


def main() -> None:
    """Run what the command line names, or all but the one that crashes."""
    for name in sys.argv[1:] or [one.name for one in ALL if one.name != "scratch_for_64_sizes"]:
        if name in globals():
            write(name)
            globals()[name]()


if __name__ == "__main__":
    main()
