import torch


class Model(torch.nn.Module):
    """Conway's game of life, on a torus or in a box."""

    def forward(self, grid, steps=6, torus=True):
        alive = grid.to(torch.uint8)
        for _ in range(steps):
            if torus:
                near = sum(alive.roll((i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1))
            else:
                wide = torch.nn.functional.pad(alive, (1, 1, 1, 1))
                h, w = alive.shape
                near = sum(wide[i : i + h, j : j + w] for i in range(3) for j in range(3))
            alive = ((near == 3) | ((near == 4) & (alive == 1))).to(torch.uint8)
        return alive.bool()


def get_inputs():
    return [torch.rand(240, 320) < 0.3]


def get_init_inputs():
    return []
