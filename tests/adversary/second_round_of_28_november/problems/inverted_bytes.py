import torch


class Model(torch.nn.Module):
    def forward(self, image):
        return 255 - image


def get_inputs():
    return [torch.randint(0, 256, (512, 512), dtype=torch.uint8)]


def get_init_inputs():
    return []
