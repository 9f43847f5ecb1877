import torch


class Model(torch.nn.Module):
    def forward(self, batch, pair):
        return batch["x"] * pair[0] + pair[1]["bias"]


def get_inputs():
    return [{"x": torch.randn(256, 512)}, (torch.randn(512), {"bias": torch.randn(512)})]
