import torch


class Model(torch.nn.Module):
    def forward(self, x):
        places = torch.arange(x.shape[1], dtype=torch.float32)[:, None]
        rates = torch.exp(torch.arange(0, x.shape[2], 2, dtype=torch.float32) * (-9.2103404 / x.shape[2]))
        table = torch.stack((torch.sin(places * rates), torch.cos(places * rates)), dim=-1).flatten(1)
        return x + table[:, : x.shape[2]]


def get_inputs():
    return [torch.randn(2, 256, 256)]


def get_init_inputs():
    return []
