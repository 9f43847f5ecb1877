"""A collision of the Lattice-Boltzmann method: nine directions in the plane."""

import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        steps = [(0, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1)]
        self.register_buffer("steps", torch.tensor(steps, dtype=torch.float32))
        self.register_buffer("weights", torch.tensor([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4))

    def forward(self, f):
        density = f.sum(dim=0)
        flow_x = (f * self.steps[:, 0, None, None]).sum(dim=0) / density
        flow_y = (f * self.steps[:, 1, None, None]).sum(dim=0) / density
        along = self.steps[:, 0, None, None] * flow_x + self.steps[:, 1, None, None] * flow_y
        square = 1.5 * (flow_x * flow_x + flow_y * flow_y)
        rest = self.weights[:, None, None] * density * (1.0 + 3.0 * along + 4.5 * along * along - square)
        return f + 0.6 * (rest - f)


def get_inputs():
    return [torch.rand(9, 512, 512) + 0.5]


def get_init_inputs():
    return []
