import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return x.reshape(x.shape[0], x.shape[1] // 2, 2, x.shape[2] // 2, 2).amax(dim=(2, 4))


def get_inputs():
    return [torch.randint(-128, 128, (16, 128, 128), dtype=torch.int8)]
