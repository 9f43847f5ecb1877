import torch


class Model(torch.nn.Module):
    def forward(self, keys):
        values, order = torch.sort(keys, dim=1, stable=True)
        return values, order


def get_inputs():
    return [torch.randint(0, 20, (128, 1024), dtype=torch.uint8)]
