import torch


class Model(torch.nn.Module):
<<<<<<< HEAD
    def forward(self, image):
        return torch.histc(image, bins=64, min=0.0, max=1.0)


def get_inputs():
    return [torch.rand(3, 256, 256)]
=======
    def forward(self, x):
        return torch.histc(x, bins=64, min=-3.0, max=3.0)


def get_inputs():
    return [torch.randn(512, 512)]
>>>>>>> adv-a


def get_init_inputs():
    return []
