import torch


class Model(torch.nn.Module):
    def forward(self, state):
        return (state * 6364136223846793005 + 1442695040888963407) >> 33


def get_inputs():
    return [torch.randint(0, 1 << 40, (512, 256))]
